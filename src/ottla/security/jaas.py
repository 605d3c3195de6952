"""``sasl.jaas.config``: the login modules and options that people paste, read as Apache reads them.

    org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="secret";

Two things are forgiven that Java does not: numbers without quotes, and the backslash at the end of a line that belongs
to a properties file.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ottla.common.errors import InvalidConfigError

_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_TOKEN: Final = re.compile(
    r"""
    (?P<blank>[\x00-\x20]+ | \\\r?\n | //[^\n]* | /\*.*?\*/)
  | (?P<quoted>"(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')
  | (?P<word>[\w.$+-]+)
  | (?P<sign>[=;])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[0-7]{1,2}|.)", re.DOTALL)
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class LoginModule(NamedTuple):
    """One entry: ``class flag name="value" …;``."""

    class_name: str
    control_flag: str
    options: Mapping[str, str]

    @property
    def simple_name(self) -> str:
        """The class without its package, by which a module is known wherever it has been moved to."""
        return self.class_name.rpartition(".")[2]


class _Token(NamedTuple):
    kind: str
    text: str


def parse_jaas(config: str) -> list[LoginModule]:
    """All entries, at least one; InvalidConfigError says what is wrong, and shows no value."""
    tokens = _tokens(config)
    modules = []
    for token in tokens:
        if token.kind != "word":
            raise _invalid(f"a login module was expected at {_shown(token)}")
        modules.append(_module(token.text, tokens))
    if not modules:
        raise _invalid("it names no login module")
    return modules


def parse_login_module(config: str) -> LoginModule:
    """The one entry that a client's configuration has."""
    modules = parse_jaas(config)
    if len(modules) > 1:
        raise _invalid(f"it has {len(modules)} entries, and exactly one is possible")
    return modules[0]


def _module(class_name: str, tokens: Iterator[_Token]) -> LoginModule:
    flag = next(tokens, None)
    if flag is None or flag.text.lower() not in _FLAGS:
        raise _invalid(f"after {class_name} one of {', '.join(_FLAGS)} was expected, usually required")
    options: dict[str, str] = {}
    for token in tokens:
        if token == ("sign", ";"):
            return LoginModule(class_name, flag.text.lower(), options)
        if token.kind == "sign":
            raise _invalid(f"the name of an option was expected at {_shown(token)}")
        equals, value = next(tokens, None), next(tokens, None)
        if equals != ("sign", "=") or value is None or value.kind == "sign":
            raise _invalid(f"option {token.text} has no value")
        options[token.text] = value.text
    raise _invalid(f"the entry of {class_name} must end with a semicolon")


def _tokens(config: str) -> Iterator[_Token]:
    position = 0
    while position < len(config):
        match = _TOKEN.match(config, position)
        if match is None:
            raise _invalid(f"it cannot be read from character {position + 1} on; values belong in double quotes")
        position = match.end()
        kind = match.lastgroup
        assert kind is not None
        if kind == "quoted":
            yield _Token(kind, _ESCAPE.sub(_unescape, match[0][1:-1]))
        elif kind != "blank":
            yield _Token(kind, match[0])


def _unescape(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _ESCAPED.get(escaped, escaped)


def _shown(token: _Token) -> str:
    """A value may be a secret, so only signs and words are shown."""
    return "a quoted text" if token.kind == "quoted" else repr(token.text)


def _invalid(why: str) -> InvalidConfigError:
    return InvalidConfigError(f"Invalid sasl.jaas.config: {why}")

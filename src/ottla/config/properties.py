r"""Java's ``.properties`` files, read and written as ``java.util.Properties`` does.

Apache Kafka reads these files as ISO 8859-1, with ``\uXXXX`` for the rest, and writes them as UTF-8 without that
escape, so only ASCII survives its round trip. Here text is text: the encoding is the caller's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANK = " \t\f"
_PAIR = re.compile(r"(?P<key>(?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u(?P<unit>[0-9a-fA-F]{4})|(?P<bad>u)|(?P<letter>.))", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_TO_ESCAPE = str.maketrans(
    {"\t": r"\t", "\n": r"\n", "\r": r"\r", "\f": r"\f", "\\": r"\\", "=": r"\=", ":": r"\:", "#": r"\#", "!": r"\!"}
)


def parse(text: str) -> dict[str, str]:
    r"""The properties in the text of a file; the last line of a key wins. ValueError for a malformed ``\uXXXX``."""
    properties = {}
    for line in _logical_lines(text):
        match = _PAIR.fullmatch(line)
        assert match is not None, "a logical line ends with no single backslash, so every line is a pair"
        properties[_unescape(match["key"])] = _unescape(match["value"])
    return properties


def with_overrides(properties: Mapping[str, str], overrides: Sequence[str]) -> dict[str, str]:
    """The properties with ``key=value`` arguments of a command line over them, the last of a key winning.

    A value may hold further equals signs; an argument without any sets its key to the empty string.
    """
    merged = dict(properties)
    for override in overrides:
        key, _, value = override.partition("=")
        merged[key] = value
    return merged


def format_properties(properties: Mapping[str, str], comments: Sequence[str] = ()) -> str:
    """The text of a file that ``Properties.store`` writes: comment lines, then the pairs in the order of the mapping.

    Java's own order is that of its hash table, and its comments end with the date: both are for the caller to give.
    """
    lines = [f"#{comment}" for comment in comments]
    for key, value in properties.items():
        escaped_key = key.translate(_TO_ESCAPE).replace(" ", r"\ ")
        # Of the spaces in a value only the first can be taken for a separator.
        escaped_value = re.sub("^ ", r"\\ ", value.translate(_TO_ESCAPE))
        lines.append(f"{escaped_key}={escaped_value}")
    return "".join(line + "\n" for line in lines)


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and blank ones, each with the lines that continue it."""
    line = ""
    continued = False
    for natural in _LINE_END.split(text):
        part = natural.lstrip(_BLANK)
        if not continued and part[:1] in ("#", "!"):
            continue
        line += part
        continued = (len(part) - len(part.rstrip("\\"))) % 2 == 1
        if continued:
            line = line[:-1]
        elif line:
            yield line
            line = ""
    if line:
        yield line


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    unescaped = _ESCAPE.sub(_unescape_one, text)
    # Characters beyond the first plane are escaped as two surrogates.
    return unescaped.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescape_one(match: re.Match[str]) -> str:
    if match["bad"]:
        raise ValueError(r"Malformed \uxxxx encoding.")
    if match["unit"]:
        return chr(int(match["unit"], 16))
    return _ESCAPED.get(match["letter"], match["letter"])

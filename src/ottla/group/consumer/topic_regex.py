"""Subscriptions by regular expression: RE2's syntax, and the topics whose whole names match."""

import re
from collections.abc import Callable, Collection, Generator, Iterable
from typing import Any

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.group.consumer.resolved_regular_expression import ResolvedRegularExpression
from ottla.metadata.image.metadata import MetadataImage

REGEX_LENGTH_MAX = 1 << 14
"""Longer ones are refused; Apache has no bound."""

REGEX_MEMORY_BYTES_MAX = 1 << 20
"""What one compiled expression may take; RE2 refuses larger ones, and goes on slowly where matching would need more."""

MATCHES_A_SLICE = 250

AuthorizedTopics = Callable[[list[str]], Collection[str]]
"""Takes the names of topics, returns those that the member may describe."""

_DESCRIPTIONS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "regexp/syntax: internal error",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid perl operator: (?<=": "invalid named capture",
    "invalid perl operator: (?<!": "invalid named capture",
    "invalid named capture group": "invalid named capture",
}
"""What RE2 in C++ says, and what the one in Java says instead; other texts are the same."""

_ANY_BYTE = re.compile(r"(?:[^\\]|\\[^C])*\\C", re.DOTALL)
"""``\\C`` matches a byte in C++ only."""


def validate_topic_regex(regex: str) -> None:
    """Raise INVALID_REGULAR_EXPRESSION if ``regex`` is none."""
    _compile(regex)


def resolve_regular_expressions(
    regexes: Iterable[str], image: MetadataImage, authorized_topics: AuthorizedTopics | None, now_ms: int
) -> Generator[None, None, dict[str, ResolvedRegularExpression]]:
    """Find the topics of each expression, in slices; yields after each.

    Only topics count that ``authorized_topics`` lets through; without it all do. An expression that does not compile
    matches nothing: it was checked when a member sent it.
    """
    matched: dict[str, list[str]] = {}
    patterns = []
    for regex in regexes:
        matched[regex] = []
        try:
            patterns.append((_compile(regex).fullmatch, matched[regex]))
        except ApiError:
            continue
        yield
    if patterns:
        matches_left = MATCHES_A_SLICE
        for name in image.topics.by_name:
            encoded = name.encode()
            for fullmatch, topics in patterns:
                if fullmatch(encoded) is not None:
                    topics.append(name)
            matches_left -= len(patterns)
            if matches_left <= 0:
                matches_left = MATCHES_A_SLICE
                yield
    if authorized_topics is not None:
        found = list(dict.fromkeys(name for topics in matched.values() for name in topics))
        allowed = frozenset(authorized_topics(found))
        matched = {regex: [name for name in topics if name in allowed] for regex, topics in matched.items()}
    return {
        regex: ResolvedRegularExpression(tuple(sorted(topics)), image.offset, now_ms)
        for regex, topics in matched.items()
    }


def _compile(regex: str) -> Any:
    import re2  # type: ignore[import-untyped]  # only groups with such subscriptions need it

    if len(regex) > REGEX_LENGTH_MAX:
        raise _invalid(regex[:64] + "…", f"it has more than {REGEX_LENGTH_MAX} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = REGEX_MEMORY_BYTES_MAX
    if _ANY_BYTE.match(regex):
        raise _invalid(regex, "invalid escape sequence")
    try:
        return re2.compile(regex, options=options)
    except re2.error as error:
        said = error.args[0].decode(errors="replace")
        description = said.partition(": ")[0]
        raise _invalid(regex, _DESCRIPTIONS.get(said) or _DESCRIPTIONS.get(description, description)) from error
    except UnicodeEncodeError as error:
        raise _invalid(regex, "invalid UTF-8") from error


def _invalid(regex: str, description: str) -> ApiError:
    return ApiError(
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {description}.",
    )

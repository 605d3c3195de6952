"""Lines of text to records, as Kafka's LineMessageReader has it: headers, key and value with separators between."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from ottla.cli.errors import CommandError

DEFAULTS: Final = {
    "parse.key": "false",
    "key.separator": "\t",
    "parse.headers": "false",
    "headers.delimiter": "\t",
    "headers.separator": ",",
    "headers.key.separator": ":",
    "ignore.error": "false",
}
_UNLIKE: Final = (
    ("headers.delimiter", "headers.separator"),
    ("headers.delimiter", "headers.key.separator"),
    ("headers.separator", "headers.key.separator"),
    ("null.marker", "key.separator"),
    ("null.marker", "headers.separator"),
    ("null.marker", "headers.delimiter"),
    ("null.marker", "headers.key.separator"),
)
"""Properties that may not have the same value."""


class LineRecord(NamedTuple):
    """What a line says."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]] | None


class LineReader:
    """Makes a record of each line. ``properties`` are Kafka's: parse.key, key.separator, …, null.marker."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        found: dict[str, str | None] = {"null.marker": None, **DEFAULTS, **properties}
        for one, other in _UNLIKE:
            if found[one] == found[other]:
                raise CommandError(f"{one} and {other} may not be equal")
        self._parse_key = _is_true(found["parse.key"])
        self._parse_headers = _is_true(found["parse.headers"])
        self._ignore_error = _is_true(found["ignore.error"])
        self._key_separator = _text(found["key.separator"])
        self._headers_delimiter = _text(found["headers.delimiter"])
        self._header_separator = _text(found["headers.key.separator"])
        self._null_marker = found["null.marker"]
        try:
            self._between_headers = re.compile(_text(found["headers.separator"]))
        except re.error as error:
            raise CommandError(f"headers.separator is no regular expression: {error}") from None
        self._is_plain = not self._parse_key and not self._parse_headers and self._null_marker is None
        self._line_number = 0

    def read(self, line: bytes) -> LineRecord:
        """The record of the next line, which comes without its end; CommandError if a separator is missing."""
        self._line_number += 1
        line = line.removesuffix(b"\r")
        if self._is_plain:
            return LineRecord(None, line, None)
        text = line.decode(errors="replace")
        rest, headers, key = text, None, None
        if self._parse_headers:
            headers, rest = self._cut(text, rest, self._headers_delimiter, "headers delimiter")
        if self._parse_key:
            key, rest = self._cut(text, rest, self._key_separator, "key separator")
        return LineRecord(
            self._bytes(key),
            self._bytes(rest),
            None if headers is None or headers == self._null_marker else self._headers(headers),
        )

    def _cut(self, line: str, rest: str, separator: str, name: str) -> tuple[str | None, str]:
        before, found, after = rest.partition(separator)
        if found:
            return before, after
        if self._ignore_error:
            return None, rest
        raise CommandError(
            f"No {name} found on line number {self._line_number}: '{line}'",
            hint="give the separator with --reader-property, or pass over it with --reader-property ignore.error=true",
        )

    def _headers(self, text: str) -> list[tuple[str, bytes | None]]:
        pairs = self._between_headers.split(text)
        while len(pairs) > 1 and not pairs[-1]:  # as Java splits
            del pairs[-1]
        return [self._header(pair) for pair in pairs]

    def _header(self, pair: str) -> tuple[str, bytes | None]:
        key, found, value = pair.partition(self._header_separator)
        if not found:
            if self._ignore_error:
                return pair, None
            raise CommandError(f"No header key separator found in pair '{pair}' on line number {self._line_number}")
        if key == self._null_marker:
            raise CommandError(f"Header keys should not be equal to the null marker '{key}' as they can't be null")
        return key, self._bytes(value)

    def _bytes(self, text: str | None) -> bytes | None:
        return None if text is None or text == self._null_marker else text.encode()


def _is_true(text: str | None) -> bool:
    return text is not None and text.strip().lower() == "true"


def _text(found: str | None) -> str:
    if not found:
        raise CommandError("A separator may not be empty")
    return found

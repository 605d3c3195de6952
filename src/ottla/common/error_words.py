"""What an error says to a reader: of the system's errors the words and the file, not Python's numbers and quotes."""

import re
from typing import Final

_NUMBER: Final = re.compile(r"\[Errno -?\d+\] ")


def in_words(error: BaseException) -> str:
    """``FILE: No space left on device`` of an OSError; what any other error says, or its class if it says nothing."""
    if isinstance(error, OSError):
        reason = error.strerror or _NUMBER.sub("", str(error))  # asyncio makes one of several, and numbers them inside
        if reason:
            return reason if error.filename is None else f"{_name(error.filename)}: {reason}"
    return str(error) or type(error).__name__.removesuffix("Error")


def _name(file: object) -> str:
    return file.decode(errors="replace") if isinstance(file, bytes) else str(file)

"""The error codes in a response, wherever they stand."""

from collections.abc import Iterator

from ottla.common.error_code import ErrorCode
from ottla.protocol.message import ArrayOf, Message

_paths: dict[type[Message], tuple[tuple[str, ...], tuple[str, ...]]] = {}
"""By class, once it has been asked for: the fields that are structs or arrays of them and hold codes somewhere."""


def has_error(response: Message, code: ErrorCode) -> bool:
    """Whether the response, or any part of it, has this code."""
    return any(found == code for found in error_codes(response))


def error_codes(message: Message) -> Iterator[int]:
    """Every ``error_code`` in it, 0 included."""
    found = getattr(message, "error_code", None)
    if found is not None:
        yield found
    structs, arrays = _fields(type(message))
    for name in structs:
        struct = getattr(message, name)
        if struct is not None:
            yield from error_codes(struct)
    for name in arrays:
        for element in getattr(message, name) or ():
            yield from error_codes(element)


def _fields(cls: type[Message]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    known = _paths.get(cls)
    if known is None:
        structs, arrays = [], []
        for field in cls.schema.fields:
            if isinstance(field.type, ArrayOf):
                if _holds_codes(field.type.element):
                    arrays.append(field.name)
            elif _holds_codes(field.type):
                structs.append(field.name)
        known = _paths[cls] = tuple(structs), tuple(arrays)
    return known


def _holds_codes(kind: object) -> bool:
    if not (isinstance(kind, type) and issubclass(kind, Message)):
        return False
    return any(field.name == "error_code" for field in kind.schema.fields) or any(_fields(kind))

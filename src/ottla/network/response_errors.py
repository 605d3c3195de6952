"""The error codes in a response, wherever they stand."""

from typing import NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.protocol.message import ArrayOf, Message


class _Paths(NamedTuple):
    """Where a class of messages holds codes: itself, and in fields that are structs or arrays of them."""

    own: bool
    structs: tuple[str, ...]
    arrays: tuple[tuple[str, bool], ...]
    """With whether the elements hold one code each and nothing else; those may be very many."""


_paths: dict[type[Message], _Paths] = {}
"""By class, once it has been asked for."""


def has_error(response: Message, code: ErrorCode) -> bool:
    """Whether the response, or any part of it, has this code."""
    return code in error_codes(response)


def error_codes(message: Message) -> list[int]:
    """Every ``error_code`` in it, 0 included."""
    found: list[int] = []
    _collect(message, found)
    return found


def _collect(message: Message, found: list[int]) -> None:
    own, structs, arrays = _paths_of(type(message))
    if own:
        found.append(message.error_code)  # type: ignore[attr-defined]
    for name in structs:
        struct = getattr(message, name)
        if struct is not None:
            _collect(struct, found)
    for name, is_flat in arrays:
        elements = getattr(message, name) or ()
        if is_flat:
            found += [element.error_code for element in elements]
        else:
            for element in elements:
                _collect(element, found)


def _paths_of(cls: type[Message]) -> _Paths:
    known = _paths.get(cls)
    if known is None:
        structs, arrays = [], []
        for field in cls.schema.fields:
            if isinstance(field.type, ArrayOf):
                element = field.type.element
                if _holds_codes(element):
                    assert isinstance(element, type)
                    below = _paths_of(element)
                    arrays.append((field.name, not below.structs and not below.arrays))
            elif _holds_codes(field.type):
                structs.append(field.name)
        own = any(field.name == "error_code" for field in cls.schema.fields)
        known = _paths[cls] = _Paths(own, tuple(structs), tuple(arrays))
    return known


def _holds_codes(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Message) and any(_paths_of(kind))

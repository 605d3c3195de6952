"""The types of configuration values, and how text becomes one: the rules of Apache's ``ConfigDef.parseType``."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, unique
from math import isfinite


@dataclass(frozen=True, slots=True)
class Password:
    """A secret that never shows itself in logs and messages."""

    value: str

    def __repr__(self) -> str:
        return "[hidden]"


ConfigValue = bool | int | float | str | tuple[str, ...] | Password | None


@unique
class ConfigType(Enum):
    """The types that a key can have, under Apache's names."""

    BOOLEAN = "true or false"
    STRING = "a string"
    INT = "a 32-bit integer"
    SHORT = "a 16-bit integer"
    LONG = "a 64-bit integer"
    DOUBLE = "a double"
    LIST = "a comma separated list"
    CLASS = "the name of a class"
    PASSWORD = "a secret string"  # noqa: S105 - a description, no secret


def parse_type(value: object, config_type: ConfigType) -> ConfigValue:
    """Turn text, or a value of the right type already, into a value of ``config_type``; ValueError if it is neither.

    None stays None: whether a key may be null is its validator's business.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return _FROM_TEXT[config_type](java_trim(value))
    return _from_typed(value, config_type)


def format_value(value: ConfigValue) -> str | None:
    """The text that parses to ``value``, as Apache shows it; None for null, ``[hidden]`` for secrets."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return _format_double(value)
    return repr(value) if isinstance(value, Password) else str(value)


_BLANKS = "".join(map(chr, range(0x21)))


def java_trim(text: str) -> str:
    """Java's ``String.trim``: what goes is U+0020 and all below, and nothing above."""
    return text.strip(_BLANKS)


_INTEGER = re.compile(r"[+-]?\d+")
_NO_NUMBER = re.compile(r"[+-]?(?:NaN|Infinity)")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_COMMA_WITH_WHITESPACE = re.compile(r"\s*,\s*", re.ASCII)
_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


def _integer(config_type: ConfigType) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not _INTEGER.fullmatch(text):
            raise ValueError(f"Not a number of type {config_type.name}")
        return _in_bits(int(text), config_type)

    return parse


def _in_bits(number: int, config_type: ConfigType) -> int:
    limit = 1 << _BITS[config_type] - 1
    if not -limit <= number < limit:
        raise ValueError(f"Not a number of type {config_type.name}")
    return number


def _double(text: str) -> float:
    if _NO_NUMBER.fullmatch(text):
        return float(text)
    digits = text[:-1] if text[-1:] in tuple("fFdD") else text
    if _DECIMAL.fullmatch(digits):
        return float(digits)
    # The suffix letters are hexadecimal digits too, but never in the exponent that Java demands.
    if _HEXADECIMAL.fullmatch(digits):
        try:
            return float.fromhex(digits)
        except OverflowError:
            return float("-inf" if digits.startswith("-") else "inf")
    raise ValueError("Not a number of type DOUBLE")


def _boolean(text: str) -> bool:
    try:
        return {"true": True, "false": False}[text.lower()]
    except KeyError:
        raise ValueError("Expected value to be either true or false") from None


def _list(text: str) -> tuple[str, ...]:
    return tuple(_COMMA_WITH_WHITESPACE.split(text)) if text else ()


_FROM_TEXT: dict[ConfigType, Callable[[str], ConfigValue]] = {
    ConfigType.BOOLEAN: _boolean,
    ConfigType.STRING: str,
    ConfigType.INT: _integer(ConfigType.INT),
    ConfigType.SHORT: _integer(ConfigType.SHORT),
    ConfigType.LONG: _integer(ConfigType.LONG),
    ConfigType.DOUBLE: _double,
    ConfigType.LIST: _list,
    ConfigType.CLASS: str,
    ConfigType.PASSWORD: Password,
}


def _from_typed(value: object, config_type: ConfigType) -> ConfigValue:
    match config_type, value:
        case ConfigType.BOOLEAN, bool():
            return value
        case ((ConfigType.INT | ConfigType.SHORT | ConfigType.LONG), int()) if not isinstance(value, bool):
            return _in_bits(value, config_type)
        case ConfigType.DOUBLE, (int() | float()) if not isinstance(value, bool):
            return float(value)
        case ConfigType.LIST, (list() | tuple() | set() | frozenset()):
            entries = sorted(value) if isinstance(value, (set, frozenset)) else value
            return tuple(str(entry) for entry in entries)
        case ConfigType.PASSWORD, Password():
            return value
    raise ValueError(f"Expected {config_type.value}, but it was a {type(value).__name__}")


def _format_double(value: float) -> str:
    """As Java's ``Double.toString`` writes the doubles that configurations hold."""
    if not isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    from decimal import Decimal  # rarely needed, and slow to load

    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    fraction = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{fraction}E{exponent + len(digits) - 1}"

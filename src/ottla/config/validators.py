"""What a configuration value may be, beyond its type: the validators of Apache's ConfigDef.

A validator's ``objection`` is None for a good value and otherwise says what is wrong; its ``str`` is Apache's notation
for the allowed values, as the documentation and DescribeConfigs show it. They are plain classes rather than
dataclasses, which take longer to make than all the tables together.
"""

import re
from typing import Protocol

from ottla.config.values import ConfigValue


class Validator(Protocol):
    """Says whether a parsed value is allowed for its key."""

    def objection(self, value: ConfigValue) -> str | None:
        """None when the value is allowed, else the reason why it is not."""


class Range:
    """A number from ``minimum`` to ``maximum``, if there is one, both included; NaN passes, as it does in Java."""

    __slots__ = ("maximum", "minimum")

    def __init__(self, minimum: float, maximum: float | None = None) -> None:
        self.minimum = minimum
        self.maximum = maximum

    def objection(self, value: ConfigValue) -> str | None:
        """Refuse null and what lies outside."""
        if value is None:
            return "Value must be non-null"
        assert isinstance(value, (int, float))
        if value < self.minimum:
            return f"Value must be at least {self.minimum}"
        if self.maximum is not None and value > self.maximum:
            return f"Value must be no more than {self.maximum}"
        return None

    def __str__(self) -> str:
        return f"[{self.minimum},...]" if self.maximum is None else f"[{self.minimum},...,{self.maximum}]"


def at_least(minimum: float) -> Range:
    """A number with a lower bound only."""
    return Range(minimum)


def between(minimum: float, maximum: float) -> Range:
    """A number with both bounds."""
    return Range(minimum, maximum)


class GzipLevel:
    """zlib's levels 1 to 9, or -1 for its own default; 0 (stored) is not allowed."""

    __slots__ = ()

    def objection(self, value: ConfigValue) -> str | None:
        """Refuse null and any other number."""
        if value is None:
            return "Value must be non-null"
        assert isinstance(value, int)
        if value != -1 and not 1 <= value <= 9:
            return "Value must be between 1 and 9 or equal to -1"
        return None

    def __str__(self) -> str:
        return "[1,...,9] or -1"


class ValidString:
    """One of some words, in exactly this case."""

    __slots__ = ("valid",)

    def __init__(self, valid: tuple[str, ...]) -> None:
        self.valid = valid

    def objection(self, value: ConfigValue) -> str | None:
        """Refuse null and any other word."""
        return None if value in self.valid else f"String must be one of: {', '.join(self.valid)}"

    def __str__(self) -> str:
        return f"[{', '.join(self.valid)}]"


def one_of(*valid: str) -> ValidString:
    """One of these words."""
    return ValidString(valid)


class ValidList:
    """A list of distinct, non-empty strings, of the words in ``valid`` if there are any.

    Duplicates are dropped with a warning before a list comes here (see ``ConfigKey.parse``).
    """

    __slots__ = ("empty_allowed", "null_allowed", "valid")

    def __init__(self, valid: tuple[str, ...] = (), *, empty_allowed: bool = True, null_allowed: bool = False) -> None:
        self.valid = valid
        self.empty_allowed = empty_allowed
        self.null_allowed = null_allowed

    def objection(self, value: ConfigValue) -> str | None:
        """Refuse null and empty lists unless allowed, empty entries, and words that are not listed."""
        if value is None:
            return None if self.null_allowed else "Values must not be null"
        assert isinstance(value, tuple)
        if not value:
            return None if self.empty_allowed else "List must not be empty"
        if "" in value:
            return "Entries of the list must not be empty"
        if self.valid and not set(value) <= set(self.valid):
            return f"Each entry must be one of: {', '.join(self.valid)}"
        return None

    def __str__(self) -> str:
        return f"[{', '.join(self.valid)}]" if self.valid else ""


class CaseInsensitiveValidString:
    """One of some words, in any case."""

    __slots__ = ("valid",)

    def __init__(self, *valid: str) -> None:
        self.valid = valid

    def objection(self, value: ConfigValue) -> str | None:
        """Refuse null and any other word."""
        if isinstance(value, str) and value.upper() in self.valid:
            return None
        return f"String must be one of (case insensitive): {', '.join(self.valid)}"

    def __str__(self) -> str:
        return f"(case insensitive) [{', '.join(self.valid)}]"


class NonNullString:
    """Any string; the empty one, too."""

    __slots__ = ()

    def objection(self, value: ConfigValue) -> str | None:
        """Refuse null."""
        return "entry must be non null" if value is None else None

    def __str__(self) -> str:
        return "non-null string"


class NonEmptyString:
    """A string that is not empty, or none at all."""

    __slots__ = ()

    def objection(self, value: ConfigValue) -> str | None:
        """Refuse the empty string."""
        return "String must be non-empty" if value == "" else None

    def __str__(self) -> str:
        return "non-empty string"


def list_of(*valid: str) -> ValidList:
    """Any of these words, or none."""
    return ValidList(valid)


_THROTTLED_REPLICA = re.compile(r"([0-9]+:[0-9]+)?")


class ThrottledReplicaList:
    """``*`` alone, or a list of ``partition:broker`` pairs."""

    __slots__ = ()

    def objection(self, value: ConfigValue) -> str | None:
        """Refuse all other lists."""
        if value is None:
            return "Values must not be null"
        assert isinstance(value, tuple)
        if "".join(value) == "*" or all(_THROTTLED_REPLICA.fullmatch(entry) for entry in value):
            return None
        return "List must be the literal '*' or pairs [partitionId]:[brokerId]"

    def __str__(self) -> str:
        return "[partitionId]:[brokerId],[partitionId]:[brokerId],..."

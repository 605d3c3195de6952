"""Configuration keys and the tables they stand in: one table a kind, and everything else is derived from it.

Parsing, the documentation and later DescribeConfigs all read these tables. Nothing is parsed twice: a table turns text
into typed values, and the rest of Ottla sees only the dataclasses that are made of them.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ottla.common.errors import InvalidConfigError
from ottla.config.validators import Validator, ValidList
from ottla.config.values import ConfigType, ConfigValue, format_value, parse_type

logger = logging.getLogger(__name__)

NO_OTHERS = "there are no other nodes to talk to yet"
"""Why a key of the cluster is inert."""


class Importance(Enum):
    """How likely it is that somebody has to think about a key."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One configuration key: Apache's name, type, default and bounds, and what it does in our own words.

    ``default`` is None for a key that may be left unset, and for one that is ``required``. ``internal`` keys are for
    tests and stay out of the documentation. ``inert`` says why a key that Apache has cannot mean anything here;
    setting one warns. ``promises`` is what somebody who sets an inert key relies on, where that protects him or his
    data: setting one is refused (:mod:`ottla.config.promises`).
    """

    name: str
    type: ConfigType
    default: ConfigValue
    validator: Validator | None
    importance: Importance
    doc: str
    inert: str | None = None
    internal: bool = False
    required: bool = False
    promises: str | None = None

    @property
    def field_name(self) -> str:
        """The attribute that holds this key's value in a configuration dataclass."""
        return self.name.replace(".", "_")

    @property
    def allowed(self) -> str:
        """What a value may be, for messages."""
        bounds = str(self.validator) if self.validator is not None else ""
        return f"{self.type.value} {bounds}".rstrip()

    def parse(self, value: object) -> ConfigValue:
        """The typed, validated value; InvalidConfigError names key, value and what is allowed."""
        try:
            parsed = parse_type(value, self.type)
        except ValueError as error:
            raise self._invalid(value, str(error)) from None
        if isinstance(self.validator, ValidList) and isinstance(parsed, tuple):
            parsed = self._distinct(parsed)
        if self.validator is not None:
            objection = self.validator.objection(parsed)
        else:
            objection = "Value must be non-null" if parsed is None and self.default is not None else None
        if objection is not None:
            raise self._invalid(value, objection)
        return parsed

    def _distinct(self, entries: tuple[str, ...]) -> tuple[str, ...]:
        distinct = tuple(dict.fromkeys(entries))
        if len(distinct) != len(entries):
            logger.warning(
                'Configuration key "%s" contains duplicate values, which are removed: %s becomes %s',
                self.name,
                format_value(entries),
                format_value(distinct),
            )
        return distinct

    def _invalid(self, value: object, why: str) -> InvalidConfigError:
        shown = "[hidden]" if self.type is ConfigType.PASSWORD else value
        return InvalidConfigError(
            f"Invalid value {shown} for configuration {self.name}: {why} (allowed: {self.allowed})"
        )


class ConfigTable:
    """All the keys of one kind ("topic", "broker"), by name and in the order of their definition."""

    __slots__ = ("_keys", "kind")

    def __init__(self, kind: str, *keys: ConfigKey) -> None:
        self.kind = kind
        self._keys = {key.name: key for key in keys}
        assert len(self._keys) == len(keys), "a key is defined twice"

    def __iter__(self) -> Iterator[ConfigKey]:
        return iter(self._keys.values())

    def __getitem__(self, name: str) -> ConfigKey:
        return self._keys[name]

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, name: object) -> bool:
        return name in self._keys

    def get(self, name: str) -> ConfigKey | None:
        """The key of this name, if there is one."""
        return self._keys.get(name)

    def default(self, name: str) -> Any:
        """The default of a key, typed as the key is."""
        return self._keys[name].default

    def parse(self, props: Mapping[str, object], *, warn: bool = True) -> dict[str, ConfigValue]:
        """Parse what is set, and only that, by key name; what no key knows is left out.

        Raises InvalidConfigError for the first bad value. What is set in vain is reported in the log, unless ``warn``
        is false.
        """
        values = {name: self._keys[name].parse(value) for name, value in props.items() if name in self._keys}
        if warn:
            for remark in self.remarks(props):
                logger.warning("%s", remark)
        return values

    def remarks(self, props: Mapping[str, object]) -> Iterator[str]:
        """What is set in vain, a sentence each: names that no key knows, and keys that are inert here."""
        for name, value in props.items():
            key = self._keys.get(name)
            if key is None:
                yield f"{self.describe_unknown(name)}; it is ignored"
            elif key.inert is not None:
                yield f"The {self.kind} config {name}={format_value(key.parse(value))} has no effect: {key.inert}"

    def with_defaults(self, values: Mapping[str, ConfigValue]) -> dict[str, ConfigValue]:
        """A value for every key: what is given, else the default; InvalidConfigError if a required one is missing."""
        complete = {}
        for name, key in self._keys.items():
            if name in values:
                complete[name] = values[name]
            elif key.required:
                raise InvalidConfigError(f'Missing required configuration "{name}" which has no default value.')
            else:
                complete[name] = key.default
        return complete

    def require_known(self, names: Mapping[str, object]) -> None:
        """InvalidConfigError for the first name that is no key of this table."""
        for name in names:
            if name not in self._keys:
                raise InvalidConfigError(self.describe_unknown(name))

    def describe_unknown(self, name: str) -> str:
        """A message for a name that is no key, with the nearest one that is."""
        near = self.nearest(name)
        return f"Unknown {self.kind} config name: {name}" + (f" (did you mean {near}?)" if near else "")

    def nearest(self, name: str) -> str | None:
        """The key that was probably meant by a name that is none."""
        from difflib import get_close_matches  # for messages only, and slow to load

        return next(iter(get_close_matches(name, self._keys, n=1)), None)

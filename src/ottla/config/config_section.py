"""Some keys of a table as typed attributes.

Each annotation of a section is the field of the key of that name with dots for underscores, and only that: the values
come from the table. (Dataclasses of this size would cost more to make at import than the rest of the room.)
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from ottla.config.definition import ConfigTable
from ottla.config.values import ConfigValue


class ConfigSection:
    """Values of some keys of a table; immutable, compared by value.

    The constructor takes typed values, unchecked, over Apache's defaults; the required keys must be given.
    """

    _table: ClassVar[ConfigTable]
    _parsed: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}

    def __init__(self, **fields: Any) -> None:
        values = self.__dict__
        for name in type(self).__annotations__:
            if name in fields:
                values[name] = fields.pop(name)
                continue
            key = self._table[name.replace("_", ".")]
            if key.required:
                raise TypeError(f"{type(self).__name__} needs {name}")
            parse = self._parsed.get(name)
            values[name] = key.default if parse is None else parse(key.default)
        if fields:
            raise TypeError(f"{type(self).__name__} has no {', '.join(fields)}")

    @classmethod
    def from_values(cls, values: Mapping[str, ConfigValue]) -> Self:
        """The section in the values of all keys of its table, by key name; InvalidConfigError if one means nothing."""
        fields: dict[str, Any] = {}
        for name in cls.__annotations__:
            value = values[name.replace("_", ".")]
            parse = cls._parsed.get(name)
            fields[name] = value if parse is None else parse(value)
        return cls(**fields)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot set {name}: a configuration does not change")

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(self) is type(other) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

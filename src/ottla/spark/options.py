"""The options of a query, as Spark hands them over: names without regard to case, values as text. Pure."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeVar

from ottla.common.errors import InvalidConfigError

T = TypeVar("T")

KAFKA_PREFIX: Final = "kafka."
SPARK_OPTIONS: Final = frozenset({"checkpointlocation", "path", "queryname", "outputmode"})
"""What Spark itself puts among a query's options; nobody here reads it."""
_OF_A_TABLE: Final = "provider"
"""What Spark puts among the options of CREATE TABLE."""
_NO_TABLES: Final = "Spark does not hand the options of a table to a source in Python; CREATE TEMPORARY VIEW has them"
_UNITS_MS: Final = {"us": 0.001, "ms": 1, "": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


class Options:
    """Each ``…(name)`` reads one option; raises InvalidConfigError, in one sentence, for a value that it cannot be.

    Names are given as they are documented (``startingOffsets``), and found in any case.
    """

    __slots__ = ("_by_lower", "kafka")

    def __init__(self, given: Mapping[str, str]) -> None:
        self._by_lower = {name.lower(): str(value) for name, value in given.items()}
        self.kafka: dict[str, str] = {
            name.removeprefix(KAFKA_PREFIX): value
            for name, value in self._by_lower.items()
            if name.startswith(KAFKA_PREFIX)
        }
        """The client's properties: what is given as ``kafka.…``, without that prefix."""

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._by_lower

    def __len__(self) -> int:
        return len(self._by_lower)

    def text(self, name: str) -> str | None:
        """The value without blanks around it; None if it is not given."""
        value = self._by_lower.get(name.lower())
        return None if value is None else value.strip()

    def required(self, name: str, what_for: str) -> str:
        """The value, which must be given and not be empty."""
        value = self.text(name)
        if not value:
            raise InvalidConfigError(f"Option '{name}' must be given: {what_for}")
        return value

    def boolean(self, name: str, default: bool) -> bool:
        """``true`` or ``false``, in any case."""
        value = self.text(name)
        if value is None:
            return default
        if value.lower() not in ("true", "false"):
            raise InvalidConfigError(f"Option '{name}' is true or false, not {value!r}")
        return value.lower() == "true"

    def integer(self, name: str, *, minimum: int | None = None) -> int | None:
        """A whole number; None if it is not given."""
        return self._parsed(name, int, "a whole number", minimum)

    def duration_ms(self, name: str) -> int | None:
        """A time as Spark writes it (``90s``, ``15m``; a plain number is milliseconds); None if it is not given."""
        return self._parsed(name, _duration_ms, "a time such as 500ms, 90s or 15m", 0)

    def one_of(self, name: str, words: Collection[str], default: str) -> str:
        """One of a few words, in any case."""
        value = (self.text(name) or default).lower()
        if value not in words:
            raise InvalidConfigError(f"Option '{name}' is one of {', '.join(words)}, not {value!r}")
        return value

    def refuse_unknown(self, known: Collection[str]) -> None:
        """InvalidConfigError for an option that is neither in ``known``, nor ``kafka.…``, nor Spark's own."""
        if _OF_A_TABLE in self._by_lower:
            raise InvalidConfigError(f"CREATE TABLE cannot be used: {_NO_TABLES}")
        by_lower = {name.lower(): name for name in known}
        for name in self._by_lower:
            if name not in by_lower and name not in SPARK_OPTIONS and not name.startswith(KAFKA_PREFIX):
                raise InvalidConfigError(_unknown(name, by_lower))

    def _parsed(self, name: str, parse: Callable[[str], T], what: str, minimum: T | None) -> T | None:
        value = self.text(name)
        if value is None:
            return None
        try:
            parsed = parse(value)
        except ValueError:
            raise InvalidConfigError(f"Option '{name}' is {what}, not {value!r}") from None
        if minimum is not None and parsed < minimum:  # type: ignore[operator]
            raise InvalidConfigError(f"Option '{name}' is at least {minimum}, not {value}")
        return parsed


def refuse_kafka(properties: Mapping[str, str], reasons: Mapping[str, str]) -> None:
    """InvalidConfigError for a ``kafka.…`` option that would go against what the query itself does; with its reason."""
    for name, reason in reasons.items():
        if name in properties:
            raise InvalidConfigError(f"Option '{KAFKA_PREFIX}{name}' cannot be set: {reason}")


def require_bootstrap_servers(options: Options) -> None:
    """InvalidConfigError if nobody says where the cluster is."""
    where = "it names some brokers of the cluster, as host:port"
    options.required(f"{KAFKA_PREFIX}bootstrap.servers", where if options else f"{where} ({_NO_TABLES})")


def _duration_ms(text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", text.lower())
    if match is None or match[2] not in _UNITS_MS:
        raise ValueError(text)
    return int(int(match[1]) * _UNITS_MS[match[2]])


def _unknown(name: str, by_lower: Mapping[str, str]) -> str:
    from difflib import get_close_matches  # for messages only

    as_property = f"{KAFKA_PREFIX}{name}"
    near = get_close_matches(name, by_lower, n=1)
    if near:
        return f"There is no option {name!r}; is '{by_lower[near[0]]}' meant?"
    if "." in name:
        return f"There is no option {name!r}; a client's property is given as '{as_property}'"
    return f"There is no option {name!r}; there are {', '.join(sorted(by_lower.values()))}, and '{KAFKA_PREFIX}…'"

"""What a coordinator writes: a key and a value, or a tombstone."""

from ottla.protocol.message import Message


class CoordinatorRecord:
    """One record of a coordinator's partition, which does not change; records compare by value.

    The key's class states the record's type (``api_key``), which stands before the key in the log; ``version`` is that
    of the value. A coordinator may have classes of its own that make the messages only when somebody asks.
    """

    __slots__ = ("_key", "_value", "_version")

    def __init__(self, key: Message, value: Message | None, version: int = 0) -> None:
        self._key = key
        self._value = value
        self._version = version

    @property
    def key(self) -> Message:
        """What the record is about."""
        return self._key

    @property
    def value(self) -> Message | None:
        """None is a tombstone: what the key names is gone."""
        return self._value

    @property
    def version(self) -> int:
        """In which version the value is written."""
        return self._version

    @classmethod
    def tombstone(cls, key: Message) -> "CoordinatorRecord":
        """The end of what ``key`` names."""
        return CoordinatorRecord(key, None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CoordinatorRecord):
            return NotImplemented
        return self.key == other.key and self.value == other.value and self.version == other.version

    __hash__ = None  # type: ignore[assignment]  # messages have none

    def __repr__(self) -> str:
        return f"CoordinatorRecord({self.key!r}, {self.value!r}, {self.version})"

"""What a coordinator writes: a key and a value, or a tombstone."""

from typing import NamedTuple

from ottla.protocol.message import Message


class CoordinatorRecord(NamedTuple):
    """One record of a coordinator's partition.

    The key's class states the record's type (``api_key``), which stands before the key in the log; ``version`` is that
    of the value.
    """

    key: Message
    value: Message | None
    """None is a tombstone: what the key names is gone."""
    version: int = 0

    @classmethod
    def tombstone(cls, key: Message) -> "CoordinatorRecord":
        """The end of what ``key`` names."""
        return cls(key, None)

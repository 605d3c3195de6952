"""The driver's decision over a batch, and the records of the state topic that keep it. Pure.

The state topic is a log that all drivers read in one order, and its first decision for a batch is the one that counts:
so a driver records its own, reads up to it, and knows. Keys are unique to a record, since compaction keeps the last
record of a key and not the first; what is superseded gets a tombstone.
"""

import json
from typing import Any, Final, NamedTuple

from ottla.common.errors import CorruptRecordError
from ottla.spark.sink.task_transaction import TaskTransaction, Written

_FORMAT: Final = 1
_SEPARATOR: Final = "\x00"
"""Between the parts of a key; no transactional id has it."""


class Decision(NamedTuple):
    """All these transactions, and no others, are the batch: they will be committed, come what may.

    ``version`` counts from 1; a later one names a transaction with the same records in place of some that were aborted
    (see docs/spark-exactly-once.md). ``is_done`` says that all of them are committed, and names none any more.
    """

    sink_id: str
    query_id: str
    batch_id: int
    record_id: str
    version: int
    transactions: tuple[TaskTransaction, ...]
    is_done: bool = False

    @property
    def key(self) -> bytes:
        """Of its record."""
        return _SEPARATOR.join((self.sink_id, self.query_id, self.record_id)).encode()

    @property
    def value(self) -> bytes:
        """Of its record."""
        return json.dumps(
            {
                "format": _FORMAT,
                "batch": self.batch_id,
                "version": self.version,
                "done": self.is_done,
                "transactions": self.transactions,
            },
            separators=(",", ":"),
        ).encode()


def parse_decision(key: bytes, value: bytes) -> Decision:
    """Read a record; CorruptRecordError if nobody here can have written it."""
    try:
        sink_id, query_id, record_id = key.decode().split(_SEPARATOR)
        found: dict[str, Any] = json.loads(value)
        if found["format"] != _FORMAT:
            raise CorruptRecordError(f"A decision of format {found['format']} is of a later version than this one")
        transactions = tuple(
            TaskTransaction(transactional_id, producer_id, epoch, is_v2, tuple(Written(*each) for each in written))
            for transactional_id, producer_id, epoch, is_v2, written in found["transactions"]
        )
        return Decision(
            sink_id, query_id, found["batch"], record_id, found["version"], transactions, is_done=found["done"]
        )
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptRecordError(f"A record of the state topic is no decision: {error!r}") from error

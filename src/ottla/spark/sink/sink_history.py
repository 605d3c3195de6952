"""What the state topic says, folded in the order of its records. Pure."""

from collections.abc import Iterable
from typing import Final

from ottla.spark.sink.decision import Decision, parse_decision

_SEPARATOR: Final = b"\x00"


class SinkHistory:
    """The decisions of one sink that count, by query; others' records are passed over.

    A decision counts if it is the first for its batch, and no later batch of the query was decided before it; a further
    version of it, if it is the first of that version. Once a batch is done nothing else counts for it.
    """

    def __init__(self, sink_id: str) -> None:
        self._prefix = sink_id.encode() + _SEPARATOR
        self._last: dict[str, Decision] = {}
        self._keys: dict[str, dict[bytes, int]] = {}

    def replay(self, key: bytes, value: bytes | None) -> None:
        """The next record; a tombstone says that nobody needs what was under its key."""
        if not key.startswith(self._prefix):
            return
        if value is None:
            self._forget(key)
            return
        decision = parse_decision(key, value)
        self._keys.setdefault(decision.query_id, {})[key] = decision.batch_id
        if _follows(decision, self._last.get(decision.query_id)):
            self._last[decision.query_id] = decision

    def _forget(self, key: bytes) -> None:
        for query_id, keys in self._keys.items():
            keys.pop(key, None)
            last = self._last.get(query_id)
            if last is not None and last.key == key:
                del self._last[query_id]

    def last(self, query_id: str) -> Decision | None:
        """The decision that counts for the query's latest batch."""
        return self._last.get(query_id)

    def pending(self) -> tuple[Decision, ...]:
        """The decisions of all queries of this sink that are not known to be done."""
        return tuple(decision for decision in self._last.values() if not decision.is_done)

    def superseded(self, decision: Decision) -> tuple[bytes, ...]:
        """The keys that nobody needs once this one is on record: of the same query, for its batch or earlier ones."""
        keys: Iterable[tuple[bytes, int]] = self._keys.get(decision.query_id, {}).items()
        return tuple(key for key, batch_id in keys if batch_id <= decision.batch_id and key != decision.key)


def _follows(decision: Decision, last: Decision | None) -> bool:
    if last is None or decision.batch_id > last.batch_id:
        return True
    if decision.batch_id < last.batch_id:
        return False
    # Two drivers may both say done; the later one's record stays, and it has put a tombstone on the other's.
    return decision.is_done or (not last.is_done and decision.version == last.version + 1)

"""Reading a snapshot, or anything of its form: ``bootstrap.checkpoint``, a segment of the metadata log."""

from collections.abc import AsyncIterator, Iterator
from typing import Generic, TypeVar

from ottla.common.errors import CorruptRecordError
from ottla.raft.batch import CommittedBatch, RecordSerde, control_messages, decode_batch, decode_values, valid_batches
from ottla.raft.offset_and_epoch import OffsetAndEpoch
from ottla.raft.slices import CHECK_INTERVAL, Slices
from ottla.records.batch import HEADER_BYTES, RecordBatch
from ottla.records.control import KRaftControlMessage, SnapshotFooterRecord, SnapshotHeaderRecord
from ottla.runtime.port import File, Files, Runtime

T = TypeVar("T")

_CHUNK_BYTES = 1 << 20


class RawSnapshot:
    """The batches of a file, each checked by its CRC, read a chunk at a time."""

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self.path = path

    def batches(self) -> Iterator[RecordBatch]:
        """All batches; CorruptRecordError for a damaged one or an incomplete end."""
        file = self._files.open(self.path, read_only=True)
        try:
            size, position, wanted = file.size(), 0, _CHUNK_BYTES
            while position < size:
                data = file.pread(wanted, position)
                end = position
                for batch in valid_batches(data):
                    yield batch
                    end += batch.size_in_bytes
                if end == position:
                    wanted = self._size_of_batch(file, position, size)
                    continue
                position, wanted = end, _CHUNK_BYTES
        finally:
            file.close()

    def _size_of_batch(self, file: File, position: int, size: int) -> int:
        """How much must be read to have the next batch whole."""
        header = file.pread(HEADER_BYTES, position)
        needed = RecordBatch(header).size_in_bytes if len(header) == HEADER_BYTES else HEADER_BYTES
        if position + needed > size:
            raise CorruptRecordError(f"{self.path} ends within the batch at position {position}")
        return needed


def read_snapshot(files: Files, path: str, serde: RecordSerde[T]) -> Iterator[CommittedBatch[T]]:
    """The batches of any file that has the form of a snapshot, control batches included."""
    for batch in RawSnapshot(files, path).batches():
        yield decode_batch(batch, serde)


class SnapshotReader(Generic[T]):
    """A snapshot as listeners get it: everything committed below ``snapshot_id.offset``."""

    def __init__(self, runtime: Runtime, path: str, snapshot_id: OffsetAndEpoch, serde: RecordSerde[T]) -> None:
        self.snapshot_id = snapshot_id
        self._runtime = runtime
        self._serde = serde
        self._raw = RawSnapshot(runtime.files, path)

    @property
    def last_contained_log_offset(self) -> int:
        """The last offset that the snapshot covers."""
        return self.snapshot_id.offset - 1

    @property
    def last_contained_log_epoch(self) -> int:
        """The epoch of that offset."""
        return self.snapshot_id.epoch

    def last_contained_log_timestamp(self) -> int:
        """When the last batch that the snapshot covers was appended."""
        return last_contained_log_timestamp(self._raw)

    def __iter__(self) -> Iterator[CommittedBatch[T]]:
        """All batches at once, for a tool; on a reactor see ``slices``. CorruptRecordError without a footer."""
        last: CommittedBatch[T] | None = None
        for batch in self._raw.batches():
            last = decode_batch(batch, self._serde)
            yield last
        self._require_footer(last.control_records if last is not None else ())

    async def slices(self) -> AsyncIterator[list[T]]:
        """The records a few at a time, so that nothing holds the reactor for more than two milliseconds."""
        slices = Slices(self._runtime)
        messages: tuple[KRaftControlMessage | None, ...] = ()
        for batch in self._raw.batches():
            messages = control_messages(batch) if batch.is_control else ()
            records: list[T] = []
            for record in () if batch.is_control else decode_values(batch, self._serde):
                records.append(record)
                if len(records) == CHECK_INTERVAL:
                    yield records
                    records = []
                    await slices.pause_if_due()
            if records:
                yield records
            await slices.pause_if_due()
        self._require_footer(messages)

    def _require_footer(self, messages: tuple[KRaftControlMessage | None, ...]) -> None:
        if not messages or not isinstance(messages[-1], SnapshotFooterRecord):
            raise CorruptRecordError(f"The snapshot {self._raw.path} does not end in a footer: it is incomplete")


def last_contained_log_timestamp(snapshot: RawSnapshot) -> int:
    """What the header of a snapshot says; CorruptRecordError if it has none."""
    first = next(snapshot.batches(), None)
    messages = control_messages(first) if first is not None and first.is_control else ()
    if not messages or not isinstance(messages[0], SnapshotHeaderRecord):
        raise CorruptRecordError(f"{snapshot.path} does not begin with a snapshot header")
    return messages[0].last_contained_log_timestamp

"""Segments of known batches, and what may happen to their bytes."""

from typing import NamedTuple

from hypothesis import strategies as st

from ottla.records.batch import RecordBatch
from ottla.records.builder import build_batch
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.records.record import SimpleRecord
from tests.records.record_strategies import record_lists

BASE_OFFSET = 1000


class Damage(NamedTuple):
    """One thing that happens: ``kind`` at a place (a fraction of the file), with bytes."""

    kind: str
    place: float
    data: bytes


class Segment(NamedTuple):
    """The bytes of a file, and the batches in it that nothing happened to, at their places."""

    data: bytes
    untouched: dict[int, bytes]
    damaged: bool


@st.composite
def batches(draw: st.DrawFn) -> list[bytes]:
    """Batches of one segment, with gaps between, of all codecs and kinds."""
    offset, made = BASE_OFFSET, []
    for _ in range(draw(st.integers(1, 8))):
        offset += draw(st.sampled_from((0, 0, 0, 1, 50)))
        if draw(st.integers(0, 5)) == 0:
            marker = EndTransactionMarker(draw(st.sampled_from((ControlRecordType.ABORT, ControlRecordType.COMMIT))), 1)
            raw = end_transaction_batch(
                marker, timestamp=5, producer_id=7, producer_epoch=0, base_offset=offset, leader_epoch=3
            )
        else:
            records: list[SimpleRecord] = draw(record_lists)
            transactional = draw(st.booleans())
            raw = build_batch(
                records,
                base_offset=offset,
                leader_epoch=3,
                compression=draw(st.integers(0, 4)),
                producer_id=7 if transactional else -1,
                producer_epoch=0 if transactional else -1,
                base_sequence=0 if transactional else -1,
                transactional=transactional,
            )
        offset = RecordBatch(raw).next_offset
        made.append(bytes(raw))
    return made


damages = st.lists(
    st.builds(
        Damage,
        st.sampled_from(("overwrite", "overwrite", "flip", "insert", "delete", "cut", "header")),
        st.floats(0, 1, exclude_max=True),
        st.binary(min_size=1, max_size=30),
    ),
    max_size=4,
)


def damage_segment(batches: list[bytes], damages: list[Damage]) -> Segment:
    """What is left of them."""
    parts = list(batches)
    touched: set[int] = set()
    for kind, place, data in damages:
        if kind == "cut":
            continue
        index = int(place * len(parts))
        raw = parts[index]
        at = int((place * len(parts) - index) * len(raw)) if raw else 0
        if kind == "header":
            at = min(at % 61, max(len(raw) - 1, 0))
        if kind == "flip" and raw:
            changed = raw[:at] + bytes([raw[at] ^ (1 << data[0] % 8)]) + raw[at + 1 :]
        elif kind in ("overwrite", "header", "flip"):
            changed = (raw[:at] + data + raw[at + len(data) :])[: len(raw)]
        elif kind == "insert":
            changed = raw[:at] + data + raw[at:]
        else:
            changed = raw[:at] + raw[at + len(data) :]
        if changed != raw:
            touched.add(index)
            parts[index] = changed
    whole = b"".join(parts)
    for kind, place, _ in damages:
        if kind == "cut":
            whole = whole[: int(place * len(whole))]
    untouched, position = {}, 0
    for index, raw in enumerate(parts):
        if index not in touched and position + len(raw) <= len(whole):
            untouched[position] = raw
        position += len(raw)
    return Segment(whole, untouched, bool(touched) or len(whole) < position)

"""Hypothesis strategies for records, and the shapes that tests compare."""

from hypothesis import strategies as st

from ottla.records.record import Header, Record, SimpleRecord

blobs = st.none() | st.binary(max_size=40) | st.binary(min_size=60, max_size=200)
headers = st.lists(st.builds(Header, st.text(max_size=12), blobs), max_size=4).map(tuple)
timestamps = (
    st.just(-1) | st.integers(0, 1 << 20) | st.integers(1_699_999_999_000, 1_700_000_000_999) | st.integers(0, 1 << 62)
)
simple_records = st.builds(SimpleRecord, timestamps, blobs, blobs, headers)
record_lists = st.lists(simple_records, min_size=1, max_size=12)


def placed(records: list[SimpleRecord], base_offset: int, gaps: list[int]) -> list[Record]:
    """The records at increasing offsets, ``gaps`` apart."""
    offset, result = base_offset - 1, []
    for index, record in enumerate(records):
        offset += 1 + gaps[index % len(gaps)]
        result.append(Record(offset, *record))
    return result

"""Profiles: slices add up, what is found is said, and the pictures are pictures. No Spark."""

import base64
import struct
import zlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ottla.spark.pipeline.cluster_topics import Span
from ottla.spark.pipeline.drawing import Drawing
from ottla.spark.pipeline.png_canvas import png_of
from ottla.spark.pipeline.profile_picture import draw, html_of
from ottla.spark.pipeline.profile_result import Profile, TimeScale, merge, shown_key, time_scale
from ottla.spark.pipeline.topic_slices import parse_spans, slices_of, spans_document

SCALE = TimeScale(1_790_000_000_000, 60_000, 5)


def cell(partition: int, records: int, *, time: int = 0, size: int = 7, null_keys: int = 0) -> list[int]:
    return [partition, time, size, records, records * 4, records * 100, null_keys, 0]


def slice_of(*cells: list[int], keys: dict[bytes, tuple[int, int]] | None = None) -> dict[str, Any]:
    listed = [[base64.b64encode(key).decode(), *place] for key, place in (keys or {}).items()]
    return {"cells": list(cells), "keys": listed, "keys_floor": 0}


def profile(*slices: dict[str, Any], partitions: int = 4) -> Profile:
    return merge("clicks", partitions, SCALE, slices, distinct_keys=9, top=5)


def test_slices_add_up() -> None:
    found = profile(
        slice_of(cell(0, 10), cell(1, 5, time=4), keys={b"a": (0, 9), b"b": (1, 3)}),
        slice_of(cell(0, 7, time=4, size=9), keys={b"b": (1, 8)}),
    )
    assert (found.records, found.size_in_bytes) == (22, 22 * 104)
    assert [each.records for each in found.partitions] == [17, 5, 0, 0]
    assert found.over_time() == [10, 0, 0, 0, 12]
    assert found.sizes == {7: 15, 9: 7}
    assert [(each.key, each.records) for each in found.keys] == [(b"b", 11), (b"a", 9)]
    assert found.document()["sizes"] == [{"below_bytes": 128, "records": 15}, {"below_bytes": 512, "records": 7}]


def test_a_hot_partition_and_the_key_that_makes_it_hot_are_named() -> None:
    cells = [cell(0, 10), cell(1, 12), cell(2, 170), cell(3, 8)]
    found = profile(slice_of(*cells, keys={b"user-1": (2, 160), b"user-2": (1, 5)})).findings
    assert found[0] == "partition 2 is hot: 85 % of all records, 3.4 times the mean"
    assert found[1].startswith("key user-1 alone has 80 % of all records and 94 % of partition 2: more partitions")
    assert len(found) == 2


def test_even_topics_empty_ones_and_small_matters() -> None:
    assert profile(slice_of(*(cell(n, 10) for n in range(4)))).findings == ["records are spread evenly"]
    assert profile().findings == ["the topic is empty"]
    mixed = profile(slice_of(cell(0, 10, null_keys=1), cell(1, 10, size=21), cell(2, 10)))
    assert mixed.findings == [
        "3.3 % of the records have no key, the others have",
        "10 records are of 1 MiB or more",
        "partition 3 is empty",
    ]


@given(st.integers(0, 1 << 42), st.integers(0, 1 << 42))
def test_a_scale_covers_the_time_with_few_buckets(first: int, length: int) -> None:
    scale = time_scale(first, first + length)
    assert 1 <= scale.count <= 120
    assert scale.start_ms <= first
    assert scale.at(scale.count) > first + length


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=6),
    st.integers(1, 40),
)
def test_slices_are_the_spans_and_no_larger_than_asked(edges: list[tuple[int, int]], most: int) -> None:
    spans = [Span("t", number, min(each), max(each)) for number, each in enumerate(edges)]
    slices = slices_of(spans, most)
    assert all(0 < each.offsets <= most for each in slices)
    parts = [span for each in slices for span in each.spans]
    read = [(span.partition, offset) for span in parts for offset in range(span.start, span.end)]
    assert read == [(span.partition, offset) for span in spans for offset in range(span.start, span.end)]
    for each in slices:
        assert len({span.partition for span in each.spans}) == len(each.spans)
    assert parse_spans(spans_document(spans)) == spans


def test_keys_are_shown_as_text_or_as_digits() -> None:
    assert shown_key(b"user-1") == "user-1"
    assert shown_key(b"\x00\xff") == "00ff"
    assert shown_key(b"") == "''"
    assert shown_key(b"x" * 50) == "x" * 40 + "…"


def test_the_page_stands_alone_and_says_nothing_that_a_browser_would_run() -> None:
    found = profile(slice_of(cell(0, 10), keys={b"<script>": (0, 9)}))
    page = html_of(found)
    assert page.startswith("<!doctype html>")
    assert "<svg" in page
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_the_picture_is_a_png_with_what_was_drawn() -> None:
    drawing = Drawing(60, 20)
    drawing.box(0, 0, 10, 10, "#ff0000")
    drawing.text(20, 15, "I")
    width, height, pixels = decoded(png_of(drawing))
    assert (width, height) == (120, 40)
    assert pixels[0][0] == (255, 0, 0)
    assert pixels[19][19] == (255, 0, 0)
    assert pixels[20][20] == (255, 255, 255)
    dark = [(x, y) for y in range(40) for x in range(30, 60) if pixels[y][x] == (0x33, 0x41, 0x55)]
    assert {x for x, _ in dark} == set(range(42, 48))
    assert min(y for _, y in dark) == 16
    assert max(y for _, y in dark) == 29


def test_profiles_of_all_sizes_are_drawn() -> None:
    for partitions in (1, 3, 200):
        found = profile(slice_of(*(cell(n, n + 1) for n in range(partitions))), partitions=partitions)
        width, height, _ = decoded(png_of(draw(found)))
        assert width == 2360
        assert 900 < height < 2600
    assert decoded(png_of(draw(profile())))[0] == 2360


def decoded(data: bytes) -> tuple[int, int, list[list[tuple[int, int, int]]]]:
    """Width, height and pixels of a PNG of eight-bit colours without filters."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (crc,) = struct.unpack_from(">I", data, at + 8 + length)
        assert crc == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + length
    width, height = struct.unpack_from(">II", chunks[b"IHDR"])
    raw = zlib.decompress(chunks[b"IDAT"])
    rows = []
    for y in range(height if width < 500 else 0):
        row = raw[y * (width * 3 + 1) : (y + 1) * (width * 3 + 1)]
        assert row[0] == 0
        rows.append([(row[x], row[x + 1], row[x + 2]) for x in range(1, len(row), 3)])
    return width, height, rows

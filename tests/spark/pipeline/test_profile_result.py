"""Profiles: slices add up, what is found is said, and the pictures are pictures. No Spark."""

import base64
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from ottla.cli.main import main
from ottla.spark.errors import SparkUnavailableError
from ottla.spark.pipeline import profile_command
from ottla.spark.pipeline.cluster_topics import Span
from ottla.spark.pipeline.drawing import Drawing, Text
from ottla.spark.pipeline.png_picture import png_of
from ottla.spark.pipeline.profile_command import pictures_of
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


def test_the_page_tells_each_finding_once_and_its_colours() -> None:
    found = profile(slice_of(cell(0, 10), cell(1, 90), cell(2, 3), cell(3, 4), keys={b"k": (0, 1)}))
    page = html_of(found)
    assert found.findings == ["partition 1 is hot: 84 % of all records, 3.4 times the mean"]
    assert page.count(found.findings[0]) == 1
    assert any(found.findings[0] in shape.text for shape in draw(found).shapes if isinstance(shape, Text))
    for legend in ("hot: 2 times the mean", "mean 27", "more than a partition", "none"):
        assert legend in page


def test_the_picture_is_a_png_with_what_was_drawn() -> None:
    drawing = Drawing(60, 20)
    drawing.box(0, 0, 10, 10, "#ff0000")
    drawing.text(20, 15, "I")
    image = Image.open(BytesIO(png_of(drawing)))
    assert (image.format, image.size) == ("PNG", (120, 40))
    assert image.getpixel((0, 0)) == image.getpixel((19, 19)) == (255, 0, 0)
    assert image.getpixel((20, 20)) == (255, 255, 255)
    dark = [(x, y) for y in range(40) for x in range(30, 60) if image.getpixel((x, y)) == (0x33, 0x41, 0x55)]
    assert {x for x, _ in dark} < set(range(40, 50))
    assert max(y for _, y in dark) == 29


def test_profiles_of_all_sizes_are_drawn() -> None:
    for partitions in (1, 3, 200):
        found = profile(slice_of(*(cell(n, n + 1) for n in range(partitions))), partitions=partitions)
        width, height = Image.open(BytesIO(png_of(draw(found)))).size
        assert width == 2360
        assert 900 < height < 2600
    assert Image.open(BytesIO(png_of(draw(profile())))).size[0] == 2360


def test_which_files_are_written_is_said_by_their_name(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    assert pictures_of("a/x.html", say=said.append) == ["a/x.html"]
    assert pictures_of("a/x.PNG", say=said.append) == ["a/x.PNG"]
    assert pictures_of("a/x.1", say=said.append) == ["a/x.1.html", "a/x.1.png"]
    assert not said
    monkeypatch.setattr(profile_command, "can_paint", lambda: False)
    assert pictures_of("x.html", say=said.append) == ["x.html"]
    assert not said
    assert pictures_of("x", say=said.append) == ["x.html"]
    assert len(said) == 1
    assert said[0].startswith("Pillow, which paints x.png, is not installed: ")
    with pytest.raises(
        SparkUnavailableError, match=r"Pillow, which paints x\.png, is not installed: .* -m pip install"
    ):
        pictures_of("x.png", say=said.append)


def test_a_page_that_is_asked_for_is_written_under_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = profile(slice_of(cell(0, 10)))
    monkeypatch.setattr(profile_command, "profile", lambda *_, **__: (found, 0))
    line = ["pipeline", "profile", "--bootstrap-server", "127.0.0.1:1", "--topic", "clicks"]
    assert main([*line, "--picture", str(tmp_path / "x.html")]) == 0
    assert [each.name for each in tmp_path.iterdir()] == ["x.html"]

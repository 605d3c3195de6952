"""What is written is what prometheus_client's parser reads, however much there is and whatever it is called."""

import math

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from ottla.metrics import Registry
from ottla.metrics.exposition import HISTOGRAMS_PER_PIECE, ITEMS_PER_PIECE, PARTS, SERIES_PER_PIECE, render


def _read(registry: Registry) -> dict[str, list[tuple[dict[str, str], float]]]:
    text = b"".join(render(registry, 0)).decode()
    return {
        family.name: [(sample.labels, sample.value) for sample in family.samples]
        for family in text_string_to_metric_families(text)
    }


@given(
    label=st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=8),
    value=st.floats(allow_nan=False) | st.integers(-(2**53), 2**53),
)
def test_labels_and_values_survive(label: str, value: float) -> None:
    registry = Registry()
    registry.gauge("a", 'What "a" is:\\ this\nor that', lambda: value, x=label, y="plain")
    registry.live_gauges("b", "B.", lambda: [((("x", label),), value)])
    assert _read(registry) == {"a": [({"x": label, "y": "plain"}, value)], "b": [({"x": label}, value)]}


def test_what_is_not_a_number_is_shown_as_that() -> None:
    registry = Registry()
    registry.gauge("a", "A.", lambda: math.nan)
    ((labels, value),) = _read(registry)["a"]
    assert labels == {}
    assert math.isnan(value)


def test_large_families_come_in_pieces_under_one_heading() -> None:
    registry = Registry()
    many = 2 * SERIES_PER_PIECE + 1
    for i in range(many):
        registry.counter("a", "A.", i=str(i)).value = i
        registry.histogram("c", "C.", i=str(i)).record(i)
    registry.live_gauges("b", "B.", lambda: (((("i", str(i)),), i) for i in range(many)))
    pieces = list(render(registry, 0))
    assert max(piece.count(b"\n") for piece in pieces) <= max(SERIES_PER_PIECE, 6 * HISTOGRAMS_PER_PIECE)
    text = b"".join(pieces)
    assert text.count(b"#") == 2 * (len("abc") + len(PARTS))
    shown = _read(registry)
    assert [value for _, value in shown["a"]] == [value for _, value in shown["b"]] == list(range(many))
    assert len(shown["c"]) == 6 * many
    assert {name: len(series) for name, series in shown.items() if name.startswith("c_")} == {
        f"c_{suffix}": many for suffix, *_ in PARTS
    }


def test_a_counter_that_is_read_is_a_counter() -> None:
    registry = Registry()
    registry.gauge("opened_total", "Opened.", lambda: 3)
    registry.live_gauges("closed_total", "Closed.", lambda: [((), 2)])
    registry.gauge("open", "Open.", lambda: 1)
    text = b"".join(render(registry, 0)).decode()
    types = {family.name: family.type for family in text_string_to_metric_families(text)}
    assert types == {"opened": "counter", "closed": "counter", "open": "gauge"}


def test_a_sum_is_taken_in_slices() -> None:
    registry = Registry()
    taken: list[int] = []
    many = 3 * ITEMS_PER_PIECE

    def value_of(item: int) -> int:
        taken.append(item)
        return item % 2

    gauge = registry.sum_gauge("a", "A.", lambda: range(many), value_of)
    before, longest = 0, 0
    text = b""
    for piece in render(registry, 0):
        longest, before = max(longest, len(taken) - before), len(taken)
        text += piece
    assert longest == ITEMS_PER_PIECE
    assert text.endswith(f"a {many / 2}\n".encode())
    assert gauge.read() == many / 2


def test_live_gauges_show_what_is_there_now() -> None:
    registry = Registry()
    things = {"x": 1}
    registry.live_gauges("a", "A.", lambda: [((("thing", name),), value) for name, value in things.items()])
    assert _read(registry)["a"] == [({"thing": "x"}, 1)]
    things.clear()
    assert _read(registry)["a"] == []
    registry.remove("a")
    assert _read(registry) == {}

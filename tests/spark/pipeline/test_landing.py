"""Landings: what is kept of them, and which second runs are refused."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.spark.pipeline.landing import Landing, LandingError, partition_columns
from ottla.spark.pipeline.sampling import stretches

LANDING = Landing("clicks", "delta", "json", "day", None, "/t/_ottla/checkpoint", '{"fields": []}', cluster="cluster-1")


def test_a_landing_is_read_as_it_was_written() -> None:
    assert Landing.parse(LANDING.document(), "/t") == LANDING


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}', '{"version": 1, "no_such_field": 2}'])
def test_a_document_of_something_else_is_refused(text: str) -> None:
    with pytest.raises(LandingError, match="cannot be understood"):
        Landing.parse(text, "/t")


def test_a_newer_document_is_refused() -> None:
    with pytest.raises(LandingError, match="by a newer Ottla"):
        Landing.parse('{"version": 2}', "/t")


def test_a_later_run_takes_the_schema_of_the_first() -> None:
    assert replace(LANDING, schema="").resumed_from(LANDING, "/t") == LANDING


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("cluster", "other", "the source cluster of the table /t was cluster-1 and cannot become other"),
        ("topic", "other", "the topic of the table /t was clicks and cannot become other"),
        ("table_format", "parquet", "the format"),
        ("partition_by", "hour", "the partitioning"),
        ("time_field", "at", "the time field of the table /t was none and cannot become at"),
        ("checkpoint", "/elsewhere", "the checkpoint"),
        ("schema", "{}", "the schema"),
        ("value", "raw", "the kind of values"),
    ],
)
def test_a_later_run_that_says_something_else_is_refused(field: str, value: str, words: str) -> None:
    with pytest.raises(LandingError, match=words):
        replace(LANDING, **{field: value}).resumed_from(LANDING, "/t")  # type: ignore[arg-type]


def test_partition_columns() -> None:
    assert partition_columns("hour") == ("kafka_date", "kafka_hour")
    assert partition_columns("none") == ()


@given(st.integers(0, 10**12), st.integers(0, 10**6), st.integers(2, 10_000))
def test_a_sample_looks_at_the_beginning_and_the_end_and_never_twice(start: int, length: int, records: int) -> None:
    found = stretches(start, start + length, records)
    assert sum(each.end - each.start for each in found) == (length if length <= records else records // 2 * 2)
    for before, after in pairwise(found):
        assert before.end <= after.start
    if found:
        assert found[0].start == start
        assert found[-1].end == start + length

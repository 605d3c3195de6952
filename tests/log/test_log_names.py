"""Names of files and directories, and what no partition is called."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.errors import KafkaStorageError
from ottla.common.topic_partition import TopicPartition
from ottla.log import names


def test_file_names_have_twenty_digits() -> None:
    assert names.log_file_name(0) == "00000000000000000000.log"
    assert names.log_file_name(4, names.DELETED_SUFFIX) == "00000000000000000004.log.deleted"
    assert names.offset_index_file_name(130, names.SWAP_SUFFIX) == "00000000000000000130.index.swap"
    assert names.time_index_file_name(130, names.CLEANED_SUFFIX) == "00000000000000000130.timeindex.cleaned"
    assert names.txn_index_file_name((1 << 63) - 1) == "09223372036854775807.txnindex"
    assert names.producer_snapshot_file_name(8) == "00000000000000000008.snapshot"
    assert names.file_name_prefix(12) == "00000000000000000012"


@given(st.integers(0, (1 << 63) - 1), st.sampled_from(["", ".deleted", ".swap"]))
def test_offsets_come_back_from_names(offset: int, suffix: str) -> None:
    assert names.offset_from_file_name(names.log_file_name(offset, suffix)) == offset


@pytest.mark.parametrize("name", ["", "12", ".log", "a.log", "1 .log", "09223372036854775808.log", "1_0.log"])
def test_what_has_no_offset(name: str) -> None:
    with pytest.raises(ValueError, match="offset"):
        names.offset_from_file_name(name)


def test_kinds_of_files() -> None:
    assert names.is_log_file("00000000000000000000.log")
    assert not names.is_log_file("00000000000000000000.log.deleted")
    assert names.is_index_file("00000000000000000000.index")
    assert names.is_index_file("00000000000000000000.timeindex")
    assert names.is_index_file("00000000000000000000.txnindex")
    assert not names.is_index_file("00000000000000000000.index.swap")
    assert names.is_producer_snapshot_file("00000000000000000000.snapshot")


def test_marked_directories() -> None:
    partition, rng = TopicPartition("my.topic-x", 7), Random(1)
    assert names.log_dir_name(partition) == "my.topic-x-7"
    for make, suffix in (
        (names.delete_dir_name, "delete"),
        (names.future_dir_name, "future"),
        (names.stray_dir_name, "stray"),
    ):
        name = make(partition, rng)
        assert re.fullmatch(rf"my\.topic-x-7\.[0-9a-f]{{12}}4[0-9a-f]{{3}}[89ab][0-9a-f]{{15}}-{suffix}", name)
        assert names.parse_topic_partition_dir(f"/data/{name}") == partition
    assert names.is_delete_dir(names.delete_dir_name(partition, rng))
    assert names.is_future_dir(names.future_dir_name(partition, rng))
    assert names.is_stray_dir(names.stray_dir_name(partition, rng))


def test_only_names_for_deletion_are_cut() -> None:
    partition, rng = TopicPartition("t" * 249, 12345), Random(1)
    assert len(names.delete_dir_name(partition, rng)) == 255
    assert len(names.stray_dir_name(partition, rng)) == 255
    assert len(names.future_dir_name(partition, rng)) > 255
    assert names.parse_topic_partition_dir(names.delete_dir_name(partition, rng)).partition == 12345


@given(st.from_regex(r"[a-zA-Z0-9._-]{1,249}", fullmatch=True), st.integers(0, (1 << 31) - 1))
def test_partitions_come_back_from_directories(topic: str, partition: int) -> None:
    expected = TopicPartition(topic, partition)
    assert names.parse_topic_partition_dir("/data/" + names.log_dir_name(expected) + "/") == expected


@pytest.mark.parametrize(
    "name",
    [
        *("", "topic", "-0", "topic-", "topic-x", "topic-1.5", "topic-2147483648", "lost+found", "a-b c"),
        *("topic-0-delete", "topic-delete", "topic.abc-delete", "topic-0.-delete", "topic-0-future", "a b-0.c-stray"),
    ],
)
def test_what_no_partition_is_called(name: str) -> None:
    with pytest.raises(KafkaStorageError, match="topic-partition"):
        names.parse_topic_partition_dir(f"/data/{name}")

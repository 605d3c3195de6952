import logging
from dataclasses import FrozenInstanceError
from random import Random

import pytest

from ottla.common.errors import InvalidConfigError
from ottla.config.topic import LogConfig, validate_topic_config


def test_text_becomes_typed_fields() -> None:
    props = {"segment.bytes": " 1048576 ", "cleanup.policy": "compact, delete", "preallocate": "TRUE"}
    config = LogConfig.from_props(props)
    assert (config.segment_bytes, config.preallocate) == (1048576, True)
    assert config.cleanup_policy == frozenset({"compact", "delete"})
    assert config.compact
    assert config.delete
    assert config.init_file_size_bytes == 1048576


def test_an_override_keeps_the_rest() -> None:
    config = LogConfig.from_props({"retention.ms": "5"}).override({"retention.bytes": "7"})
    assert (config.retention_ms, config.retention_bytes) == (5, 7)


def test_the_internal_segment_size_wins_whenever_it_was_set() -> None:
    config = LogConfig.from_props({"internal.segment.bytes": "100"})
    assert config.segment_bytes == 100
    assert config.override({"segment.bytes": "1048576"}).segment_bytes == 100
    assert LogConfig(segment_bytes=50).segment_bytes == 50


def test_an_empty_cleanup_policy_keeps_everything() -> None:
    config = LogConfig.from_props({"cleanup.policy": ""})
    assert not config.compact
    assert not config.delete


def test_a_stored_name_that_is_unknown_does_not_stop_a_topic(caplog: pytest.LogCaptureFixture) -> None:
    assert LogConfig.from_props({"from.the.future": "1"}) == LogConfig()
    assert "Unknown topic config name: from.the.future" in caplog.text
    with pytest.raises(InvalidConfigError, match=r"Unknown topic config name: from\.the\.future"):
        validate_topic_config({"from.the.future": "1"})


def test_contradictions_are_refused_with_key_and_value() -> None:
    with pytest.raises(InvalidConfigError, match=r"value 5 for configuration min\.compaction\.lag\.ms.*at most 4"):
        validate_topic_config({"min.compaction.lag.ms": "5"}, LogConfig(max_compaction_lag_ms=4))


def test_a_promise_that_is_not_kept_is_refused() -> None:
    with pytest.raises(InvalidConfigError) as raised:
        validate_topic_config({"remote.storage.enable": "true"})
    assert str(raised.value) == (
        "The topic config remote.storage.enable promises that sealed segments are kept in remote storage, which this "
        "version of Ottla does not do, for tiered storage is not part of Ottla: remove it if you can do without"
    )
    assert validate_topic_config({"remote.storage.enable": "false"}) == LogConfig()
    assert LogConfig.from_props({"remote.storage.enable": "true"}).remote_storage_enable, "what is stored must load"


def test_inert_keys_warn(caplog: pytest.LogCaptureFixture) -> None:
    LogConfig.from_props({"leader.replication.throttled.replicas": "*", "local.retention.ms": "5"})
    assert caplog.messages == [
        "The topic config leader.replication.throttled.replicas=* has no effect: quotas are not built yet",
        "The topic config local.retention.ms=5 has no effect: tiered storage is not part of Ottla",
    ]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


@pytest.mark.parametrize(
    ("compression_type", "level"),
    [("gzip", -1), ("lz4", 9), ("zstd", 3), ("snappy", None), ("uncompressed", None), ("producer", None)],
)
def test_the_level_is_that_of_the_codec(compression_type: str, level: int | None) -> None:
    assert LogConfig(compression_type=compression_type).compression_level == level


def test_a_compacted_topic_rolls_within_its_maximum_lag() -> None:
    config = LogConfig(segment_ms=100, max_compaction_lag_ms=60)
    assert config.max_segment_ms == 100
    assert config.override({"cleanup.policy": "compact"}).max_segment_ms == 60


def test_jitter_stays_below_both_bounds_and_zero_asks_for_no_chance() -> None:
    rng = Random(7)
    state = rng.getstate()
    assert LogConfig().random_segment_jitter_ms(rng) == 0
    assert rng.getstate() == state
    assert {LogConfig(segment_jitter_ms=5).random_segment_jitter_ms(rng) for _ in range(200)} == set(range(5))
    assert {LogConfig(segment_jitter_ms=5, segment_ms=2).random_segment_jitter_ms(rng) for _ in range(200)} == {0, 1}


def test_a_configuration_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        LogConfig().segment_bytes = 5  # type: ignore[misc]

import pytest

from ottla.common.errors import InvalidConfigError
from ottla.config.broker import BrokerLogConfig
from ottla.config.topic import LogConfig


def test_a_broker_that_sets_nothing_gives_topics_apaches_defaults() -> None:
    assert BrokerLogConfig().topic_defaults() == LogConfig()
    assert BrokerLogConfig.from_props({}) == BrokerLogConfig()


def test_log_dirs_falls_back_to_log_dir() -> None:
    assert BrokerLogConfig().log_dirs == ("/tmp/kafka-logs",)
    assert BrokerLogConfig.from_props({"log.dir": "/a"}).log_dirs == ("/a",)
    assert BrokerLogConfig.from_props({"log.dir": "/a", "log.dirs": "/b, /c"}).log_dirs == ("/b", "/c")


@pytest.mark.parametrize(
    ("props", "message"),
    [
        ({"log.roll.ms": "0"}, "Invalid value 0 for configuration log.roll.ms: Value must be at least 1"),
        (
            {"log.roll.jitter.ms": "-1"},
            "value -1 for configuration log.roll.jitter.ms: Value must be at least 0",
        ),
        (
            {"log.flush.interval.ms": "-1"},
            "value -1 for configuration log.flush.interval.ms: Value must be at least 0",
        ),
        ({"log.retention.minutes": "0"}, "Invalid value 0 for configuration log.retention.minutes: "),
        ({"log.cleaner.threads": "0"}, "log.cleaner.dedupe.buffer.size: it is shared by log.cleaner.threads=0"),
        ({"log.cleaner.dedupe.buffer.size": "1048576"}, "Invalid value 1048576 for configuration log.cleaner.dedupe"),
        (
            {"log.dirs": "/a,,/b"},
            "value /a,,/b for configuration log.dirs: Entries of the list must not be empty",
        ),
        (
            {"ottla.produce.validation": "lax"},
            "value lax for configuration ottla.produce.validation: String must be one of",
        ),
    ],
    ids=str,
)
def test_an_error_names_the_key_that_was_set(props: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidConfigError) as raised:
        BrokerLogConfig.from_props(props)
    assert message in str(raised.value)
    assert "(allowed: " in str(raised.value)


def test_a_key_of_another_time_or_place_warns(caplog: pytest.LogCaptureFixture) -> None:
    BrokerLogConfig.from_props({"log.recovery.per.partition.enabled": "true", "log.local.retention.ms": "3"})
    assert "Unknown broker config name: log.recovery.per.partition.enabled" in caplog.messages[0]
    assert caplog.messages[1] == (
        "The broker config log.local.retention.ms=3 has no effect: tiered storage is not part of Ottla"
    )


def test_our_own_key_stands_beside_apaches() -> None:
    assert BrokerLogConfig.from_props({"ottla.produce.validation": "strict"}).ottla_produce_validation == "strict"

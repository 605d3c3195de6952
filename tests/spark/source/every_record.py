"""Topics with everything that Kafka's records can be, for comparing readers."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from ottla.clients.admin.configs import AlterConfigOp, ConfigResource, ConfigResourceType
from ottla.clients.admin.topics import NewTopic
from ottla.clients.sync import Admin, Consumer, Producer
from ottla.common.topic_partition import TopicPartition

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
HEADERS: Final[Sequence[list[tuple[str, bytes | None]] | None]] = (
    None,
    [("a", b"1")],
    [("a", b"1"), ("a", b"2"), ("ключ", None), ("", b"")],
)
_COMPACT: Final = [AlterConfigOp("cleanup.policy", "compact")]
_SMALL_SEGMENTS: Final = {
    "min.cleanable.dirty.ratio": "0.01",
    "internal.segment.bytes": "10000",
    "segment.ms": "3600000",
}
_CLEAN_AFTER_S: Final = 2.0
"""One pass of the cleaner changes segments within milliseconds of each other."""
FIRST_TIME_MS: Final = 1_700_000_000_000


class Topics(NamedTuple):
    """Names of the topics; all begin with ``prefix``."""

    prefix: str

    @property
    def codecs(self) -> str:
        """Three partitions, batches of all codecs with nulls, empty values and headers; the last one is empty."""
        return f"{self.prefix}-codecs"

    @property
    def transactions(self) -> str:
        """Committed, aborted and unfinished transactions among plain records."""
        return f"{self.prefix}-transactions"

    @property
    def compacted(self) -> str:
        """With holes between offsets."""
        return f"{self.prefix}-compacted"

    @property
    def append_time(self) -> str:
        """With the broker's times, and the first records deleted."""
        return f"{self.prefix}-append-time"

    @property
    def all(self) -> tuple[str, ...]:
        """All of them."""
        return self.codecs, self.transactions, self.compacted, self.append_time


@contextmanager
def every_record(bootstrap: str, prefix: str) -> Iterator[Topics]:
    """Make and fill the topics; a transaction is open while they are used."""
    topics = Topics(prefix)
    with Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics(
            [
                NewTopic(topics.codecs, 3, 1, configs={"retention.ms": "-1"}),  # its records are old
                NewTopic(topics.transactions, 2, 1),
                NewTopic(topics.compacted, 1, 1, configs=_SMALL_SEGMENTS),
                NewTopic(topics.append_time, 1, 1, configs={"message.timestamp.type": "LogAppendTime"}),
            ]
        )
        fill_codecs(bootstrap, topics.codecs)
        _fill_compacted(bootstrap, topics.compacted, admin)
        with Producer(bootstrap_servers=bootstrap) as producer:
            for number in range(20):
                producer.send(topics.append_time, b"value %d" % number)
        admin.delete_records({TopicPartition(topics.append_time, 0): 7})
    with _transactions(bootstrap, topics.transactions):
        yield topics


def fill_codecs(bootstrap: str, topic: str, rounds: int = 2) -> None:
    """Add records of every kind, in batches of every codec, to the first two partitions."""
    number = 0
    for _ in range(rounds):
        for codec in CODECS:
            with Producer(bootstrap_servers=bootstrap, compression_type=codec, linger_ms=50) as producer:
                for _ in range(30):
                    number += 1
                    key = None if number % 5 == 0 else b"key %d" % (number % 4)
                    value = (
                        None if number % 7 == 0 else b"" if number % 11 == 0 else b"value %d " % number * (number % 40)
                    )
                    producer.send(
                        topic,
                        value,
                        key=key,
                        headers=HEADERS[number % 3],
                        partition=number % 2,
                        timestamp_ms=FIRST_TIME_MS + number,
                    )


def _fill_compacted(bootstrap: str, topic: str, admin: Admin) -> None:
    """Overwrite a few keys among others, and wait until the cleaner has been over all that it may touch.

    It must not come while records are written: there would be another pass, at whatever time.
    """
    written = 400
    partition = TopicPartition(topic, 0)
    with Producer(bootstrap_servers=bootstrap, batch_size=2000) as producer:  # a batch fits in a segment
        sent = [
            producer.send(
                topic, b"%d" % number * 40, key=b"key %d" % (number % 9 if number % 10 else number), partition=0
            )
            for number in range(written)
        ]
        producer.flush()
        assert sent[-1].result().offset == written - 1
    admin.alter_configs({ConfigResource(ConfigResourceType.TOPIC, topic): _COMPACT})
    with Consumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign([partition])
        deadline = time.monotonic() + 60
        before, same_since = written, time.monotonic()
        while before == written or time.monotonic() - same_since < _CLEAN_AFTER_S:
            assert time.monotonic() < deadline, "the cleaner has not come"
            consumer.seek(partition, 0)
            seen = 0
            while consumer.position(partition) < written:
                seen += len(consumer.poll(500))
            if seen != before:
                before, same_since = seen, time.monotonic()
            time.sleep(0.05)


@contextmanager
def _transactions(bootstrap: str, topic: str) -> Iterator[None]:
    """Transactions that end in all ways, in both partitions; the last one stays open."""
    with (
        Producer(bootstrap_servers=bootstrap) as plain,
        Producer(bootstrap_servers=bootstrap, transactional_id=f"{topic}-1", compression_type="lz4") as first,
        Producer(bootstrap_servers=bootstrap, transactional_id=f"{topic}-2", transaction_timeout_ms=900_000) as second,
    ):
        first.init_transactions()
        second.init_transactions()

        def send(producer: Producer, word: bytes) -> None:
            for number in range(6):
                producer.send(topic, b"%s %d" % (word, number), partition=number % 2, headers=HEADERS[number % 3])
            producer.flush()

        send(plain, b"plain")
        first.begin_transaction()
        send(first, b"committed")
        second.begin_transaction()
        send(second, b"aborted")
        send(plain, b"between")
        first.commit_transaction()
        second.abort_transaction()
        first.begin_transaction()
        send(first, b"aborted too")
        first.abort_transaction()
        send(plain, b"after")
        second.begin_transaction()
        send(second, b"open")
        send(plain, b"behind an open transaction")
        yield
        second.abort_transaction()

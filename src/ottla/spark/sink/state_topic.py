"""The state topic: one partition, compacted, that all drivers append decisions to and read in order."""

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ottla.clients.admin.offsets import OffsetSpec
from ottla.clients.admin.topics import NewTopic
from ottla.clients.errors import KafkaTimeoutError, TopicExistsError, UnknownTopicOrPartitionError
from ottla.clients.producer.batch_record import BatchRecord
from ottla.clients.sync import Admin, Consumer, Producer
from ottla.common.errors import InvalidConfigError, KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.spark.sink.client_properties import DECISION_BYTES_MAX, consumer_properties, state_producer_properties
from ottla.spark.sink.sink_history import SinkHistory

logger = logging.getLogger(__name__)

_CONFIGS: Final = {
    "cleanup.policy": "compact",
    # So that whoever reads it from the start has little to read.
    "segment.bytes": str(8 * 1024 * 1024),
    "min.cleanable.dirty.ratio": "0.1",
    "max.message.bytes": str(DECISION_BYTES_MAX),
}
_POLL_MS: Final = 1_000
_PATIENCE_S: Final = 60


class StateTopic:
    """Kept open by a process; ``read`` goes on where the last one ended."""

    def __init__(self, properties: Mapping[str, str], topic: str, sink_id: str, admin: Admin) -> None:
        """``properties`` are the sink's producer's. The topic is made if it is not there."""
        self._partition = TopicPartition(topic, 0)
        self.history = SinkHistory(sink_id)
        self._own_end_offset = 0
        self._admin = admin
        _require(admin, topic)
        self._producer = Producer(state_producer_properties(properties))
        self._consumer: Consumer[bytes, bytes] = Consumer(
            {**consumer_properties(properties), "enable.auto.commit": "false", "auto.offset.reset": "earliest"}
        )
        try:
            self._producer.start()
            self._consumer.start()
            self._consumer.assign([self._partition])
            self._consumer.seek_to_beginning(self._partition)
            self._consumer.pause(self._partition)
        except BaseException:
            self.close()
            raise

    def append(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Return when all are in the log; if it raises, some may be."""
        rows = [BatchRecord(value, key, None, 0, None) for key, value in records]
        found = self._producer.send_batch(self._partition.topic, rows).result()
        self._own_end_offset = found.partitions[self._partition].last_offset + 1

    def read(self) -> SinkHistory:
        """All that is in the log by now, and at least what this process has appended."""
        consumer, partition = self._consumer, self._partition
        # Not by the consumer: on its connection this would wait behind a fetch for records that do not come.
        end_offset = self._admin.list_offsets({partition: OffsetSpec.latest()})[partition].offset
        end_offset = max(self._own_end_offset, end_offset)
        deadline_s = time.monotonic() + _PATIENCE_S
        if consumer.position(partition) >= end_offset:
            return self.history
        consumer.resume(partition)
        while consumer.position(partition) < end_offset:
            if time.monotonic() > deadline_s:
                raise KafkaTimeoutError(f"The state topic {partition.topic!r} could not be read in {_PATIENCE_S} s")
            for record in consumer.poll(_POLL_MS):
                if record.key is not None:
                    self.history.replay(record.key, record.value)
        consumer.pause(partition)
        return self.history

    def close(self) -> None:
        """Disconnect."""
        self._producer.close()
        self._consumer.close()


def _require(admin: Admin, topic: str) -> None:
    try:
        found: Any = admin.describe_topics([topic])[topic]
    except UnknownTopicOrPartitionError:
        try:
            admin.create_topics([NewTopic(topic, num_partitions=1, configs=_CONFIGS)])
        except TopicExistsError:
            return
        except KafkaError as error:
            raise InvalidConfigError(
                f"The state topic {topic!r} is not there and cannot be made; make it, with one partition and "
                f"cleanup.policy=compact, or name another by option 'stateTopic': {error}"
            ) from error
        logger.info("Made the state topic %s", topic)
        return
    if len(found.partitions) != 1:
        raise InvalidConfigError(f"The state topic {topic!r} must have one partition, not {len(found.partitions)}")

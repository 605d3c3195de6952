"""AlterPartition (api key 56)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT8, INT16, INT32, INT64, UUID, ArrayOf, Message, field


class BrokerState(Message):
    broker_id: int = field(INT32, "3+", default=0)
    broker_epoch: int = field(INT64, "3+", default=-1)


class AlterPartitionRequestPartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "0+", default=0)
    new_isr: Sequence[int] = field(ArrayOf(INT32), "0-2", default=())
    new_isr_with_epochs: Sequence[BrokerState] = field(ArrayOf(BrokerState), "3+", default=())
    leader_recovery_state: int = field(INT8, "1+", default=0)
    partition_epoch: int = field(INT32, "0+", default=0)


class AlterPartitionRequestTopicData(Message):
    topic_id: Uuid = field(UUID, "2+", default=ZERO_UUID)
    partitions: Sequence[AlterPartitionRequestPartitionData] = field(
        ArrayOf(AlterPartitionRequestPartitionData), "0+", default=()
    )


class AlterPartitionRequest(Message, api_key=56, versions="2-3", flexible="0+"):
    broker_id: int = field(INT32, "0+", default=0)
    broker_epoch: int = field(INT64, "0+", default=-1)
    topics: Sequence[AlterPartitionRequestTopicData] = field(ArrayOf(AlterPartitionRequestTopicData), "0+", default=())


class AlterPartitionResponsePartitionData(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    leader_id: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "0+", default=0)
    isr: Sequence[int] = field(ArrayOf(INT32), "0+", default=())
    leader_recovery_state: int = field(INT8, "1+", default=0)
    partition_epoch: int = field(INT32, "0+", default=0)


class AlterPartitionResponseTopicData(Message):
    topic_id: Uuid = field(UUID, "2+", default=ZERO_UUID)
    partitions: Sequence[AlterPartitionResponsePartitionData] = field(
        ArrayOf(AlterPartitionResponsePartitionData), "0+", default=()
    )


class AlterPartitionResponse(Message, api_key=56, versions="2-3", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    topics: Sequence[AlterPartitionResponseTopicData] = field(
        ArrayOf(AlterPartitionResponseTopicData), "0+", default=()
    )

"""ReadShareGroupState (api key 84)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT8, INT16, INT32, INT64, STRING, UUID, ArrayOf, Message, field


class PartitionData(Message):
    partition: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "0+", default=0)


class ReadStateData(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[PartitionData] = field(ArrayOf(PartitionData), "0+", default=())


class ReadShareGroupStateRequest(Message, api_key=84, versions="0", flexible="0+"):
    group_id: str = field(STRING, "0+", default="")
    topics: Sequence[ReadStateData] = field(ArrayOf(ReadStateData), "0+", default=())


class StateBatch(Message):
    first_offset: int = field(INT64, "0+", default=0)
    last_offset: int = field(INT64, "0+", default=0)
    delivery_state: int = field(INT8, "0+", default=0)
    delivery_count: int = field(INT16, "0+", default=0)


class PartitionResult(Message):
    partition: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")
    state_epoch: int = field(INT32, "0+", default=0)
    start_offset: int = field(INT64, "0+", default=0)
    state_batches: Sequence[StateBatch] = field(ArrayOf(StateBatch), "0+", default=())


class ReadStateResult(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[PartitionResult] = field(ArrayOf(PartitionResult), "0+", default=())


class ReadShareGroupStateResponse(Message, api_key=84, versions="0", flexible="0+"):
    results: Sequence[ReadStateResult] = field(ArrayOf(ReadStateResult), "0+", default=())

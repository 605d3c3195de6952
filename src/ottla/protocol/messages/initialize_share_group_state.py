"""InitializeShareGroupState (api key 83)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT16, INT32, INT64, STRING, UUID, ArrayOf, Message, field


class PartitionData(Message):
    partition: int = field(INT32, "0+", default=0)
    state_epoch: int = field(INT32, "0+", default=0)
    start_offset: int = field(INT64, "0+", default=0)


class InitializeStateData(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[PartitionData] = field(ArrayOf(PartitionData), "0+", default=())


class InitializeShareGroupStateRequest(Message, api_key=83, versions="0", flexible="0+"):
    group_id: str = field(STRING, "0+", default="")
    topics: Sequence[InitializeStateData] = field(ArrayOf(InitializeStateData), "0+", default=())


class PartitionResult(Message):
    partition: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")


class InitializeStateResult(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[PartitionResult] = field(ArrayOf(PartitionResult), "0+", default=())


class InitializeShareGroupStateResponse(Message, api_key=83, versions="0", flexible="0+"):
    results: Sequence[InitializeStateResult] = field(ArrayOf(InitializeStateResult), "0+", default=())

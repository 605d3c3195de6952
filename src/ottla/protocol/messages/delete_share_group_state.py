"""DeleteShareGroupState (api key 86)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT16, INT32, STRING, UUID, ArrayOf, Message, field


class PartitionData(Message):
    partition: int = field(INT32, "0+", default=0)


class DeleteStateData(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[PartitionData] = field(ArrayOf(PartitionData), "0+", default=())


class DeleteShareGroupStateRequest(Message, api_key=86, versions="0", flexible="0+"):
    group_id: str = field(STRING, "0+", default="")
    topics: Sequence[DeleteStateData] = field(ArrayOf(DeleteStateData), "0+", default=())


class PartitionResult(Message):
    partition: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")


class DeleteStateResult(Message):
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[PartitionResult] = field(ArrayOf(PartitionResult), "0+", default=())


class DeleteShareGroupStateResponse(Message, api_key=86, versions="0", flexible="0+"):
    results: Sequence[DeleteStateResult] = field(ArrayOf(DeleteStateResult), "0+", default=())

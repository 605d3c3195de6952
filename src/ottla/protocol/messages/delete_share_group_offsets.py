"""DeleteShareGroupOffsets (api key 92)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT16, INT32, STRING, UUID, ArrayOf, Message, field


class DeleteShareGroupOffsetsRequestTopic(Message):
    topic_name: str = field(STRING, "0+", default="")


class DeleteShareGroupOffsetsRequest(Message, api_key=92, versions="0", flexible="0+"):
    group_id: str = field(STRING, "0+", default="")
    topics: Sequence[DeleteShareGroupOffsetsRequestTopic] = field(
        ArrayOf(DeleteShareGroupOffsetsRequestTopic), "0+", default=()
    )


class DeleteShareGroupOffsetsResponseTopic(Message):
    topic_name: str = field(STRING, "0+", default="")
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")


class DeleteShareGroupOffsetsResponse(Message, api_key=92, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")
    responses: Sequence[DeleteShareGroupOffsetsResponseTopic] = field(
        ArrayOf(DeleteShareGroupOffsetsResponseTopic), "0+", default=()
    )

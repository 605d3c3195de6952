"""DeleteTopics (api key 20)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT16, INT32, STRING, UUID, ArrayOf, Message, field


class DeleteTopicState(Message):
    name: str | None = field(STRING, "6+", default=None, nullable="6+")
    topic_id: Uuid = field(UUID, "6+", default=ZERO_UUID)


class DeleteTopicsRequest(Message, api_key=20, versions="1-6", flexible="4+"):
    topics: Sequence[DeleteTopicState] = field(ArrayOf(DeleteTopicState), "6+", default=())
    topic_names: Sequence[str] = field(ArrayOf(STRING), "0-5", default=())
    timeout_ms: int = field(INT32, "0+", default=0)


class DeletableTopicResult(Message):
    name: str | None = field(STRING, "0+", default="", nullable="6+")
    topic_id: Uuid = field(UUID, "6+", default=ZERO_UUID)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "5+", default=None, nullable="5+")


class DeleteTopicsResponse(Message, api_key=20, versions="1-6", flexible="4+"):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    responses: Sequence[DeletableTopicResult] = field(ArrayOf(DeletableTopicResult), "0+", default=())

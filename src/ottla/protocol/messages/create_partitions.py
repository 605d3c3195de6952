"""CreatePartitions (api key 37)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, INT16, INT32, STRING, ArrayOf, Message, field


class CreatePartitionsAssignment(Message):
    broker_ids: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class CreatePartitionsTopic(Message):
    name: str = field(STRING, "0+", default="")
    count: int = field(INT32, "0+", default=0)
    assignments: Sequence[CreatePartitionsAssignment] | None = field(
        ArrayOf(CreatePartitionsAssignment), "0+", default=(), nullable="0+"
    )


class CreatePartitionsRequest(Message, api_key=37, versions="0-3", flexible="2+"):
    topics: Sequence[CreatePartitionsTopic] = field(ArrayOf(CreatePartitionsTopic), "0+", default=())
    timeout_ms: int = field(INT32, "0+", default=0)
    validate_only: bool = field(BOOL, "0+", default=False)


class CreatePartitionsTopicResult(Message):
    name: str = field(STRING, "0+", default="")
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")


class CreatePartitionsResponse(Message, api_key=37, versions="0-3", flexible="2+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    results: Sequence[CreatePartitionsTopicResult] = field(ArrayOf(CreatePartitionsTopicResult), "0+", default=())

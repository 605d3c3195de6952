"""ListPartitionReassignments (api key 46)."""

from collections.abc import Sequence

from ottla.protocol.message import INT16, INT32, STRING, ArrayOf, Message, field


class ListPartitionReassignmentsTopics(Message):
    name: str = field(STRING, "0+", default="")
    partition_indexes: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class ListPartitionReassignmentsRequest(Message, api_key=46, versions="0", flexible="0+"):
    timeout_ms: int = field(INT32, "0+", default=60000)
    topics: Sequence[ListPartitionReassignmentsTopics] | None = field(
        ArrayOf(ListPartitionReassignmentsTopics), "0+", default=None, nullable="0+"
    )


class OngoingPartitionReassignment(Message):
    partition_index: int = field(INT32, "0+", default=0)
    replicas: Sequence[int] = field(ArrayOf(INT32), "0+", default=())
    adding_replicas: Sequence[int] = field(ArrayOf(INT32), "0+", default=())
    removing_replicas: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class OngoingTopicReassignment(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[OngoingPartitionReassignment] = field(ArrayOf(OngoingPartitionReassignment), "0+", default=())


class ListPartitionReassignmentsResponse(Message, api_key=46, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
    topics: Sequence[OngoingTopicReassignment] = field(ArrayOf(OngoingTopicReassignment), "0+", default=())

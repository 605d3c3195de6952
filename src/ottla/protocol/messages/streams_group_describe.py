"""StreamsGroupDescribe (api key 89)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, INT16, INT32, INT64, STRING, UINT16, ArrayOf, Message, field


class StreamsGroupDescribeRequest(Message, api_key=89, versions="0", flexible="0+"):
    group_ids: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    include_authorized_operations: bool = field(BOOL, "0+", default=False)


class Endpoint(Message):
    host: str = field(STRING, "0+", default="")
    port: int = field(UINT16, "0+", default=0)


class TaskOffset(Message):
    subtopology_id: str = field(STRING, "0+", default="")
    partition: int = field(INT32, "0+", default=0)
    offset: int = field(INT64, "0+", default=0)


class TaskIds(Message):
    subtopology_id: str = field(STRING, "0+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class Assignment(Message):
    active_tasks: Sequence[TaskIds] = field(ArrayOf(TaskIds), "0+", default=())
    standby_tasks: Sequence[TaskIds] = field(ArrayOf(TaskIds), "0+", default=())
    warmup_tasks: Sequence[TaskIds] = field(ArrayOf(TaskIds), "0+", default=())


class KeyValue(Message):
    key: str = field(STRING, "0+", default="")
    value: str = field(STRING, "0+", default="")


class TopicInfo(Message):
    name: str = field(STRING, "0+", default="")
    partitions: int = field(INT32, "0+", default=0)
    replication_factor: int = field(INT16, "0+", default=0)
    topic_configs: Sequence[KeyValue] = field(ArrayOf(KeyValue), "0+", default=())


class Subtopology(Message):
    subtopology_id: str = field(STRING, "0+", default="")
    source_topics: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    repartition_sink_topics: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    state_changelog_topics: Sequence[TopicInfo] = field(ArrayOf(TopicInfo), "0+", default=())
    repartition_source_topics: Sequence[TopicInfo] = field(ArrayOf(TopicInfo), "0+", default=())


class Topology(Message):
    epoch: int = field(INT32, "0+", default=0)
    subtopologies: Sequence[Subtopology] | None = field(ArrayOf(Subtopology), "0+", default=None, nullable="0+")


class Member(Message):
    member_id: str = field(STRING, "0+", default="")
    member_epoch: int = field(INT32, "0+", default=0)
    instance_id: str | None = field(STRING, "0+", default=None, nullable="0+")
    rack_id: str | None = field(STRING, "0+", default=None, nullable="0+")
    client_id: str = field(STRING, "0+", default="")
    client_host: str = field(STRING, "0+", default="")
    topology_epoch: int = field(INT32, "0+", default=0)
    process_id: str = field(STRING, "0+", default="")
    user_endpoint: Endpoint | None = field(Endpoint, "0+", default=None, nullable="0+")
    client_tags: Sequence[KeyValue] = field(ArrayOf(KeyValue), "0+", default=())
    task_offsets: Sequence[TaskOffset] = field(ArrayOf(TaskOffset), "0+", default=())
    task_end_offsets: Sequence[TaskOffset] = field(ArrayOf(TaskOffset), "0+", default=())
    assignment: Assignment | None = field(Assignment, "0+", default=None)
    target_assignment: Assignment | None = field(Assignment, "0+", default=None)
    is_classic: bool = field(BOOL, "0+", default=False)


class DescribedGroup(Message):
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")
    group_id: str = field(STRING, "0+", default="")
    group_state: str = field(STRING, "0+", default="")
    group_epoch: int = field(INT32, "0+", default=0)
    assignment_epoch: int = field(INT32, "0+", default=0)
    topology: Topology | None = field(Topology, "0+", default=None, nullable="0+")
    members: Sequence[Member] = field(ArrayOf(Member), "0+", default=())
    authorized_operations: int = field(INT32, "0+", default=-2147483648)


class StreamsGroupDescribeResponse(Message, api_key=89, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    groups: Sequence[DescribedGroup] = field(ArrayOf(DescribedGroup), "0+", default=())

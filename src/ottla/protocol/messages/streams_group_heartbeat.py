"""StreamsGroupHeartbeat (api key 88)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, INT8, INT16, INT32, INT64, STRING, UINT16, ArrayOf, Message, field


class KeyValue(Message):
    key: str = field(STRING, "0+", default="")
    value: str = field(STRING, "0+", default="")


class TopicInfo(Message):
    name: str = field(STRING, "0+", default="")
    partitions: int = field(INT32, "0+", default=0)
    replication_factor: int = field(INT16, "0+", default=0)
    topic_configs: Sequence[KeyValue] = field(ArrayOf(KeyValue), "0+", default=())


class StreamsGroupHeartbeatRequestEndpoint(Message):
    host: str = field(STRING, "0+", default="")
    port: int = field(UINT16, "0+", default=0)


class TaskOffset(Message):
    subtopology_id: str = field(STRING, "0+", default="")
    partition: int = field(INT32, "0+", default=0)
    offset: int = field(INT64, "0+", default=0)


class StreamsGroupHeartbeatRequestTaskIds(Message):
    subtopology_id: str = field(STRING, "0+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class CopartitionGroup(Message):
    source_topics: Sequence[int] = field(ArrayOf(INT16), "0+", default=())
    source_topic_regex: Sequence[int] = field(ArrayOf(INT16), "0+", default=())
    repartition_source_topics: Sequence[int] = field(ArrayOf(INT16), "0+", default=())


class Subtopology(Message):
    subtopology_id: str = field(STRING, "0+", default="")
    source_topics: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    source_topic_regex: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    state_changelog_topics: Sequence[TopicInfo] = field(ArrayOf(TopicInfo), "0+", default=())
    repartition_sink_topics: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    repartition_source_topics: Sequence[TopicInfo] = field(ArrayOf(TopicInfo), "0+", default=())
    copartition_groups: Sequence[CopartitionGroup] = field(ArrayOf(CopartitionGroup), "0+", default=())


class Topology(Message):
    epoch: int = field(INT32, "0+", default=0)
    subtopologies: Sequence[Subtopology] = field(ArrayOf(Subtopology), "0+", default=())


class StreamsGroupHeartbeatRequest(Message, api_key=88, versions="0", flexible="0+"):
    group_id: str = field(STRING, "0+", default="")
    member_id: str = field(STRING, "0+", default="")
    member_epoch: int = field(INT32, "0+", default=0)
    endpoint_information_epoch: int = field(INT32, "0+", default=0)
    instance_id: str | None = field(STRING, "0+", default=None, nullable="0+")
    rack_id: str | None = field(STRING, "0+", default=None, nullable="0+")
    rebalance_timeout_ms: int = field(INT32, "0+", default=-1)
    topology: Topology | None = field(Topology, "0+", default=None, nullable="0+")
    active_tasks: Sequence[StreamsGroupHeartbeatRequestTaskIds] | None = field(
        ArrayOf(StreamsGroupHeartbeatRequestTaskIds), "0+", default=None, nullable="0+"
    )
    standby_tasks: Sequence[StreamsGroupHeartbeatRequestTaskIds] | None = field(
        ArrayOf(StreamsGroupHeartbeatRequestTaskIds), "0+", default=None, nullable="0+"
    )
    warmup_tasks: Sequence[StreamsGroupHeartbeatRequestTaskIds] | None = field(
        ArrayOf(StreamsGroupHeartbeatRequestTaskIds), "0+", default=None, nullable="0+"
    )
    process_id: str | None = field(STRING, "0+", default=None, nullable="0+")
    user_endpoint: StreamsGroupHeartbeatRequestEndpoint | None = field(
        StreamsGroupHeartbeatRequestEndpoint, "0+", default=None, nullable="0+"
    )
    client_tags: Sequence[KeyValue] | None = field(ArrayOf(KeyValue), "0+", default=None, nullable="0+")
    task_offsets: Sequence[TaskOffset] | None = field(ArrayOf(TaskOffset), "0+", default=None, nullable="0+")
    task_end_offsets: Sequence[TaskOffset] | None = field(ArrayOf(TaskOffset), "0+", default=None, nullable="0+")
    shutdown_application: bool = field(BOOL, "0+", default=False)


class Status(Message):
    status_code: int = field(INT8, "0+", default=0)
    status_detail: str = field(STRING, "0+", default="")


class TopicPartition(Message):
    topic: str = field(STRING, "0+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class StreamsGroupHeartbeatResponseTaskIds(Message):
    subtopology_id: str = field(STRING, "0+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class StreamsGroupHeartbeatResponseEndpoint(Message):
    host: str = field(STRING, "0+", default="")
    port: int = field(UINT16, "0+", default=0)


class EndpointToPartitions(Message):
    user_endpoint: StreamsGroupHeartbeatResponseEndpoint | None = field(
        StreamsGroupHeartbeatResponseEndpoint, "0+", default=None
    )
    active_partitions: Sequence[TopicPartition] = field(ArrayOf(TopicPartition), "0+", default=())
    standby_partitions: Sequence[TopicPartition] = field(ArrayOf(TopicPartition), "0+", default=())


class StreamsGroupHeartbeatResponse(Message, api_key=88, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")
    member_id: str = field(STRING, "0+", default="")
    member_epoch: int = field(INT32, "0+", default=0)
    heartbeat_interval_ms: int = field(INT32, "0+", default=0)
    acceptable_recovery_lag: int = field(INT32, "0+", default=0)
    task_offset_interval_ms: int = field(INT32, "0+", default=0)
    status: Sequence[Status] | None = field(ArrayOf(Status), "0+", default=(), nullable="0+")
    active_tasks: Sequence[StreamsGroupHeartbeatResponseTaskIds] | None = field(
        ArrayOf(StreamsGroupHeartbeatResponseTaskIds), "0+", default=None, nullable="0+"
    )
    standby_tasks: Sequence[StreamsGroupHeartbeatResponseTaskIds] | None = field(
        ArrayOf(StreamsGroupHeartbeatResponseTaskIds), "0+", default=None, nullable="0+"
    )
    warmup_tasks: Sequence[StreamsGroupHeartbeatResponseTaskIds] | None = field(
        ArrayOf(StreamsGroupHeartbeatResponseTaskIds), "0+", default=None, nullable="0+"
    )
    endpoint_information_epoch: int = field(INT32, "0+", default=0)
    partitions_by_user_endpoint: Sequence[EndpointToPartitions] | None = field(
        ArrayOf(EndpointToPartitions), "0+", default=None, nullable="0+"
    )

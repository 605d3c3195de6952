"""CreateTopics (api key 19)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import BOOL, INT8, INT16, INT32, STRING, UUID, ArrayOf, Message, field


class CreatableReplicaAssignment(Message):
    partition_index: int = field(INT32, "0+", default=0)
    broker_ids: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class CreatableTopicConfig(Message):
    name: str = field(STRING, "0+", default="")
    value: str | None = field(STRING, "0+", default="", nullable="0+")


class CreatableTopic(Message):
    name: str = field(STRING, "0+", default="")
    num_partitions: int = field(INT32, "0+", default=0)
    replication_factor: int = field(INT16, "0+", default=0)
    assignments: Sequence[CreatableReplicaAssignment] = field(ArrayOf(CreatableReplicaAssignment), "0+", default=())
    configs: Sequence[CreatableTopicConfig] = field(ArrayOf(CreatableTopicConfig), "0+", default=())


class CreateTopicsRequest(Message, api_key=19, versions="2-7", flexible="5+"):
    topics: Sequence[CreatableTopic] = field(ArrayOf(CreatableTopic), "0+", default=())
    timeout_ms: int = field(INT32, "0+", default=60000)
    validate_only: bool = field(BOOL, "1+", default=False)


class CreatableTopicConfigs(Message):
    name: str = field(STRING, "5+", default="")
    value: str | None = field(STRING, "5+", default="", nullable="5+")
    read_only: bool = field(BOOL, "5+", default=False)
    config_source: int = field(INT8, "5+", default=-1)
    is_sensitive: bool = field(BOOL, "5+", default=False)


class CreatableTopicResult(Message):
    name: str = field(STRING, "0+", default="")
    topic_id: Uuid = field(UUID, "7+", default=ZERO_UUID)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "1+", default="", nullable="0+")
    topic_config_error_code: int = field(INT16, "5+", default=0, tag=0, tagged="5+")
    num_partitions: int = field(INT32, "5+", default=-1)
    replication_factor: int = field(INT16, "5+", default=-1)
    configs: Sequence[CreatableTopicConfigs] | None = field(
        ArrayOf(CreatableTopicConfigs), "5+", default=(), nullable="5+"
    )


class CreateTopicsResponse(Message, api_key=19, versions="2-7", flexible="5+"):
    throttle_time_ms: int = field(INT32, "2+", default=0)
    topics: Sequence[CreatableTopicResult] = field(ArrayOf(CreatableTopicResult), "0+", default=())

"""The records of topics and their partitions."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT8, INT32, STRING, UUID, ArrayOf, Message, field


class TopicRecord(Message, api_key=2, versions="0", flexible="0+"):
    """A topic exists; its partitions follow."""

    name: str = field(STRING, "0+", default="")
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)


class PartitionRecord(Message, api_key=3, versions="0-2", flexible="0+"):
    """A partition in full. Version 1 adds directories, version 2 the eligible leader replicas."""

    partition_id: int = field(INT32, "0+", default=-1)
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    replicas: Sequence[int] = field(ArrayOf(INT32), "0+", default=())
    isr: Sequence[int] = field(ArrayOf(INT32), "0+", default=())
    removing_replicas: Sequence[int] = field(ArrayOf(INT32), "0+", default=())
    adding_replicas: Sequence[int] = field(ArrayOf(INT32), "0+", default=())
    leader: int = field(INT32, "0+", default=-1)
    leader_recovery_state: int = field(INT8, "0+", default=0, tag=0, tagged="0+")
    leader_epoch: int = field(INT32, "0+", default=-1)
    partition_epoch: int = field(INT32, "0+", default=-1)
    directories: Sequence[Uuid] = field(ArrayOf(UUID), "1+", default=())
    eligible_leader_replicas: Sequence[int] | None = field(
        ArrayOf(INT32), "2+", default=None, nullable="2+", tag=1, tagged="2+"
    )
    last_known_elr: Sequence[int] | None = field(ArrayOf(INT32), "2+", default=None, nullable="2+", tag=2, tagged="2+")


class PartitionChangeRecord(Message, api_key=5, versions="0-2", flexible="0+"):
    """What changed in a partition: None, or -2 for the leader and -1 for its recovery state, means no change."""

    partition_id: int = field(INT32, "0+", default=-1)
    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    isr: Sequence[int] | None = field(ArrayOf(INT32), "0+", default=None, nullable="0+", tag=0, tagged="0+")
    leader: int = field(INT32, "0+", default=-2, tag=1, tagged="0+")
    replicas: Sequence[int] | None = field(ArrayOf(INT32), "0+", default=None, nullable="0+", tag=2, tagged="0+")
    removing_replicas: Sequence[int] | None = field(
        ArrayOf(INT32), "0+", default=None, nullable="0+", tag=3, tagged="0+"
    )
    adding_replicas: Sequence[int] | None = field(ArrayOf(INT32), "0+", default=None, nullable="0+", tag=4, tagged="0+")
    leader_recovery_state: int = field(INT8, "0+", default=-1, tag=5, tagged="0+")
    directories: Sequence[Uuid] | None = field(ArrayOf(UUID), "1+", default=None, nullable="1+", tag=8, tagged="1+")
    eligible_leader_replicas: Sequence[int] | None = field(
        ArrayOf(INT32), "2+", default=None, nullable="2+", tag=6, tagged="2+"
    )
    last_known_elr: Sequence[int] | None = field(ArrayOf(INT32), "2+", default=None, nullable="2+", tag=7, tagged="2+")


class RemoveTopicRecord(Message, api_key=9, versions="0", flexible="0+"):
    """A topic, its partitions and its configuration are gone."""

    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)


class ClearElrRecord(Message, api_key=28, versions="0", flexible="0+"):
    """The eligible leader replicas of one topic, or with an empty name of all, are forgotten."""

    topic_name: str = field(STRING, "0+", default="")

"""The records of what a cluster is set to: features, configuration, quotas, producer ids."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, FLOAT64, INT8, INT16, INT32, INT64, STRING, ArrayOf, Message, field


class ConfigRecord(Message, api_key=4, versions="0", flexible="0+"):
    """One key of a resource's configuration; a None value deletes it."""

    resource_type: int = field(INT8, "0+", default=0)
    resource_name: str = field(STRING, "0+", default="")
    name: str = field(STRING, "0+", default="")
    value: str | None = field(STRING, "0+", default="", nullable="0+")


class FeatureLevelRecord(Message, api_key=12, versions="0", flexible="0+"):
    """The finalized level of a feature; 0 disables it."""

    name: str = field(STRING, "0+", default="")
    feature_level: int = field(INT16, "0+", default=0)


class EntityData(Message):
    """One part of a quota's entity; the name None stands for the default of its type."""

    entity_type: str = field(STRING, "0+", default="")
    entity_name: str | None = field(STRING, "0+", default="", nullable="0+")


class ClientQuotaRecord(Message, api_key=14, versions="0", flexible="0+"):
    """One quota of an entity, set or removed."""

    entity: Sequence[EntityData] = field(ArrayOf(EntityData), "0+", default=())
    key: str = field(STRING, "0+", default="")
    value: float = field(FLOAT64, "0+", default=0.0)
    remove: bool = field(BOOL, "0+", default=False)


class ProducerIdsRecord(Message, api_key=15, versions="0", flexible="0+"):
    """A broker was given a block of producer ids; the next block begins at ``next_producer_id``."""

    broker_id: int = field(INT32, "0+", default=0)
    broker_epoch: int = field(INT64, "0+", default=-1)
    next_producer_id: int = field(INT64, "0+", default=0)

"""DescribeClientQuotas (api key 48)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, FLOAT64, INT8, INT16, INT32, STRING, ArrayOf, Message, field


class ComponentData(Message):
    entity_type: str = field(STRING, "0+", default="")
    match_type: int = field(INT8, "0+", default=0)
    match: str | None = field(STRING, "0+", default="", nullable="0+")


class DescribeClientQuotasRequest(Message, api_key=48, versions="0-1", flexible="1+"):
    components: Sequence[ComponentData] = field(ArrayOf(ComponentData), "0+", default=())
    strict: bool = field(BOOL, "0+", default=False)


class EntityData(Message):
    entity_type: str = field(STRING, "0+", default="")
    entity_name: str | None = field(STRING, "0+", default="", nullable="0+")


class ValueData(Message):
    key: str = field(STRING, "0+", default="")
    value: float = field(FLOAT64, "0+", default=0.0)


class EntryData(Message):
    entity: Sequence[EntityData] = field(ArrayOf(EntityData), "0+", default=())
    values: Sequence[ValueData] = field(ArrayOf(ValueData), "0+", default=())


class DescribeClientQuotasResponse(Message, api_key=48, versions="0-1", flexible="1+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
    entries: Sequence[EntryData] | None = field(ArrayOf(EntryData), "0+", default=(), nullable="0+")

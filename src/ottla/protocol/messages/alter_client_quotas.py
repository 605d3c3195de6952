"""AlterClientQuotas (api key 49)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, FLOAT64, INT16, INT32, STRING, ArrayOf, Message, field


class AlterClientQuotasRequestEntityData(Message):
    entity_type: str = field(STRING, "0+", default="")
    entity_name: str | None = field(STRING, "0+", default="", nullable="0+")


class OpData(Message):
    key: str = field(STRING, "0+", default="")
    value: float = field(FLOAT64, "0+", default=0.0)
    remove: bool = field(BOOL, "0+", default=False)


class AlterClientQuotasRequestEntryData(Message):
    entity: Sequence[AlterClientQuotasRequestEntityData] = field(
        ArrayOf(AlterClientQuotasRequestEntityData), "0+", default=()
    )
    ops: Sequence[OpData] = field(ArrayOf(OpData), "0+", default=())


class AlterClientQuotasRequest(Message, api_key=49, versions="0-1", flexible="1+"):
    entries: Sequence[AlterClientQuotasRequestEntryData] = field(
        ArrayOf(AlterClientQuotasRequestEntryData), "0+", default=()
    )
    validate_only: bool = field(BOOL, "0+", default=False)


class AlterClientQuotasResponseEntityData(Message):
    entity_type: str = field(STRING, "0+", default="")
    entity_name: str | None = field(STRING, "0+", default="", nullable="0+")


class AlterClientQuotasResponseEntryData(Message):
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")
    entity: Sequence[AlterClientQuotasResponseEntityData] = field(
        ArrayOf(AlterClientQuotasResponseEntityData), "0+", default=()
    )


class AlterClientQuotasResponse(Message, api_key=49, versions="0-1", flexible="1+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    entries: Sequence[AlterClientQuotasResponseEntryData] = field(
        ArrayOf(AlterClientQuotasResponseEntryData), "0+", default=()
    )

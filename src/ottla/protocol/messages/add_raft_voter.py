"""AddRaftVoter (api key 80)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import BOOL, INT16, INT32, STRING, UINT16, UUID, ArrayOf, Message, field


class Listener(Message):
    name: str = field(STRING, "0+", default="")
    host: str = field(STRING, "0+", default="")
    port: int = field(UINT16, "0+", default=0)


class AddRaftVoterRequest(Message, api_key=80, versions="0-1", flexible="0+"):
    cluster_id: str | None = field(STRING, "0+", default="", nullable="0+")
    timeout_ms: int = field(INT32, "0+", default=0)
    voter_id: int = field(INT32, "0+", default=0)
    voter_directory_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    listeners: Sequence[Listener] = field(ArrayOf(Listener), "0+", default=())
    ack_when_committed: bool = field(BOOL, "1+", default=True)


class AddRaftVoterResponse(Message, api_key=80, versions="0-1", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")

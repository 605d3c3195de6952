"""RemoveRaftVoter (api key 81)."""

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT16, INT32, STRING, UUID, Message, field


class RemoveRaftVoterRequest(Message, api_key=81, versions="0", flexible="0+"):
    cluster_id: str | None = field(STRING, "0+", default="", nullable="0+")
    voter_id: int = field(INT32, "0+", default=0)
    voter_directory_id: Uuid = field(UUID, "0+", default=ZERO_UUID)


class RemoveRaftVoterResponse(Message, api_key=81, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default="", nullable="0+")

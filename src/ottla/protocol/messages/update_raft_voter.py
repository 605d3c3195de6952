"""UpdateRaftVoter (api key 82)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import INT16, INT32, STRING, UINT16, UUID, ArrayOf, Message, field


class Listener(Message):
    name: str = field(STRING, "0+", default="")
    host: str = field(STRING, "0+", default="")
    port: int = field(UINT16, "0+", default=0)


class KRaftVersionFeature(Message):
    min_supported_version: int = field(INT16, "0+", default=0)
    max_supported_version: int = field(INT16, "0+", default=0)


class UpdateRaftVoterRequest(Message, api_key=82, versions="0", flexible="0+"):
    cluster_id: str | None = field(STRING, "0+", default="", nullable="0+")
    current_leader_epoch: int = field(INT32, "0+", default=0)
    voter_id: int = field(INT32, "0+", default=0)
    voter_directory_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    listeners: Sequence[Listener] = field(ArrayOf(Listener), "0+", default=())
    k_raft_version_feature: KRaftVersionFeature | None = field(KRaftVersionFeature, "0+", default=None)


class CurrentLeader(Message):
    leader_id: int = field(INT32, "0+", default=-1)
    leader_epoch: int = field(INT32, "0+", default=-1)
    host: str = field(STRING, "0+", default="")
    port: int = field(INT32, "0+", default=0)


class UpdateRaftVoterResponse(Message, api_key=82, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    current_leader: CurrentLeader | None = field(CurrentLeader, "0+", default=None, tag=0, tagged="0+")

"""KRaft's control records as JSON, in every version that Apache writes: the schemas, and what dumps call them."""

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Final

from ottla.cli.message_json import compact, message_json
from ottla.common.errors import InvalidRecordError, InvalidRequestError
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.codec import decode_from
from ottla.protocol.message import INT16, INT32, INT64, STRING, UINT16, UUID, ArrayOf, Message, field
from ottla.records.control_type import ControlRecordType

_VERSION: Final = Struct(">h")


class LeaderChangeVoter(Message):
    """A voter, by id and directory."""

    voter_id: int = field(INT32, "0+", default=0)
    voter_directory_id: Uuid = field(UUID, "1+", default=ZERO_UUID)


class LeaderChange(Message, versions="0-1", flexible="0+"):
    """Who leads, who may vote and who voted for it."""

    version: int = field(INT16, "0+", default=0)
    leader_id: int = field(INT32, "0+", default=0)
    voters: Sequence[LeaderChangeVoter] = field(ArrayOf(LeaderChangeVoter), "0+", default=())
    granting_voters: Sequence[LeaderChangeVoter] = field(ArrayOf(LeaderChangeVoter), "0+", default=())


class SnapshotHeader(Message, versions="0", flexible="0+"):
    """The first record of a snapshot."""

    version: int = field(INT16, "0+", default=0)
    last_contained_log_timestamp: int = field(INT64, "0+", default=0)


class SnapshotFooter(Message, versions="0", flexible="0+"):
    """The last record of a snapshot."""

    version: int = field(INT16, "0+", default=0)


class KRaftVersion(Message, versions="0", flexible="0+"):
    """The version of the quorum's protocol."""

    version: int = field(INT16, "0+", default=0)
    k_raft_version: int = field(INT16, "0+", default=0)


class VoterEndpoint(Message):
    """Where a voter listens."""

    name: str = field(STRING, "0+", default="")
    host: str = field(STRING, "0+", default="")
    port: int = field(UINT16, "0+", default=0)


class KRaftVersionFeature(Message):
    """The versions of the protocol that a voter speaks."""

    min_supported_version: int = field(INT16, "0+", default=0)
    max_supported_version: int = field(INT16, "0+", default=0)


class QuorumVoter(Message):
    """One voter."""

    voter_id: int = field(INT32, "0+", default=0)
    voter_directory_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    endpoints: Sequence[VoterEndpoint] = field(ArrayOf(VoterEndpoint), "0+", default=())
    k_raft_version_feature: KRaftVersionFeature | None = field(KRaftVersionFeature, "0+", default=None)


class Voters(Message, versions="0", flexible="0+"):
    """All voters of the quorum."""

    version: int = field(INT16, "0+", default=0)
    voters: Sequence[QuorumVoter] = field(ArrayOf(QuorumVoter), "0+", default=())


SCHEMAS: Final[Mapping[ControlRecordType, tuple[str, type[Message]]]] = {
    ControlRecordType.LEADER_CHANGE: ("LeaderChange:", LeaderChange),
    ControlRecordType.SNAPSHOT_HEADER: ("SnapshotHeader", SnapshotHeader),
    ControlRecordType.SNAPSHOT_FOOTER: ("SnapshotFooter", SnapshotFooter),
    ControlRecordType.KRAFT_VERSION: ("KRaftVersion", KRaftVersion),
    ControlRecordType.KRAFT_VOTERS: ("KRaftVoters", Voters),
}
"""By type: what a dump calls the record, and its schema."""


def control_text(control_type: ControlRecordType, value: bytes) -> str:
    """What a dump says of a KRaft control record; InvalidRecordError if it cannot be read."""
    title, schema = SCHEMAS[control_type]
    try:
        version: int = _VERSION.unpack_from(value)[0] if len(value) >= _VERSION.size else 0
        message, _ = decode_from(schema, memoryview(value), 0, min(version, schema.schema.versions.highest))
    except InvalidRequestError as error:
        raise InvalidRecordError(f"A control record of type {control_type.name} cannot be read: {error}") from error
    return f"{title} {compact(message_json(message, version))}"

"""Who votes: the replicas of the metadata log whose majority decides what is committed. Pure.

With kraft.version 0 the voters are those of ``controller.quorum.voters``, known by their ids alone. With 1 they are
written in the log and its snapshots, each with the id of its directory, so that a node that lost its disk is another.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ottla.common.errors import InvalidConfigError
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.records.control_messages import Endpoint, Voter, VotersRecord

KRAFT_VERSIONS = (0, 1)
"""The lowest and the highest kraft.version that this node speaks."""


class ReplicaKey(NamedTuple):
    """A replica: its node, and its metadata directory where that is known."""

    id: int
    directory_id: Uuid | None = None

    @classmethod
    def of(cls, replica_id: int, directory_id: Uuid) -> "ReplicaKey":
        """As it stands in records and files, where the zero id means that the directory is unknown."""
        return cls(replica_id, None if directory_id == ZERO_UUID else directory_id)


@dataclass(frozen=True, slots=True)
class VoterNode:
    """One voter: where it listens (sorted by name), and the kraft versions that it speaks."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...] = ()
    supported_versions: tuple[int, int] = (0, 0)

    def is_voter(self, key: ReplicaKey) -> bool:
        """Whether a replica is this voter; a voter without a directory id is whoever has its node id."""
        if self.key.id != key.id:
            return False
        return self.key.directory_id is None or self.key.directory_id == key.directory_id

    def endpoint(self, listener_name: str) -> Endpoint | None:
        """Where it listens under this name."""
        return next((endpoint for endpoint in self.endpoints if endpoint.name == listener_name), None)


def sorted_endpoints(endpoints: Iterable[Endpoint]) -> tuple[Endpoint, ...]:
    """Endpoints in an order of their own, so that equal sets are equal."""
    return tuple(sorted(endpoints, key=lambda endpoint: endpoint.name))


class VoterSet:
    """The voters at one point of the log, by node id."""

    __slots__ = ("_voters",)

    def __init__(self, voters: Iterable[VoterNode] = ()) -> None:
        self._voters: Mapping[int, VoterNode] = {
            voter.key.id: voter for voter in sorted(voters, key=lambda voter: voter.key.id)
        }

    @classmethod
    def from_static(cls, voters: str, listener_name: str) -> "VoterSet":
        """Parse ``controller.quorum.voters`` (``1@host:9093,…``); InvalidConfigError names the entry at fault."""
        nodes = []
        for entry in filter(None, (part.strip() for part in voters.split(","))):
            node_id, at, address = entry.partition("@")
            host, colon, port = address.rpartition(":")
            if not (at and colon and host and node_id.isdecimal() and port.isdecimal()):
                raise InvalidConfigError(
                    f"Invalid value {voters} for configuration controller.quorum.voters: Error parsing host information"
                    f" in quorum voters config: {entry} is not id@host:port"
                )
            endpoint = Endpoint(name=listener_name, host=host.strip("[]"), port=int(port))
            nodes.append(VoterNode(ReplicaKey(int(node_id)), (endpoint,)))
        return cls(nodes)

    @classmethod
    def from_record(cls, record: VotersRecord) -> "VoterSet":
        """The voters that a control record names."""
        return cls(
            VoterNode(
                ReplicaKey.of(voter.voter_id, voter.voter_directory_id),
                sorted_endpoints(voter.endpoints),
                (voter.min_supported_version, voter.max_supported_version),
            )
            for voter in record.voters
        )

    def to_record(self) -> VotersRecord:
        """The control record that names these voters."""
        return VotersRecord(
            voters=tuple(
                Voter(
                    voter_id=voter.key.id,
                    voter_directory_id=voter.key.directory_id or ZERO_UUID,
                    endpoints=voter.endpoints,
                    min_supported_version=voter.supported_versions[0],
                    max_supported_version=voter.supported_versions[1],
                )
                for voter in self
            )
        )

    def __iter__(self) -> Iterator[VoterNode]:
        return iter(self._voters.values())

    def __len__(self) -> int:
        return len(self._voters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and self._voters == other._voters

    __hash__ = None  # type: ignore[assignment]  # compared, never looked up

    def __repr__(self) -> str:
        return f"VoterSet({', '.join(map(str, self))})"

    @property
    def ids(self) -> tuple[int, ...]:
        """The node ids, ascending."""
        return tuple(self._voters)

    def node(self, node_id: int) -> VoterNode | None:
        """The voter with this node id."""
        return self._voters.get(node_id)

    def is_voter(self, key: ReplicaKey) -> bool:
        """Whether a replica votes."""
        voter = self._voters.get(key.id)
        return voter is not None and voter.is_voter(key)

    def is_only_voter(self, key: ReplicaKey) -> bool:
        """Whether a replica alone is the majority."""
        return len(self._voters) == 1 and self.is_voter(key)

    def check_only_voter(self, key: ReplicaKey) -> None:
        """InvalidConfigError unless a replica alone is the majority: no other quorum can be served yet."""
        if not self.is_only_voter(key):
            voters = ", ".join(str(voter.key.id) for voter in self) or "nobody"
            raise InvalidConfigError(
                f"Node {key.id} is not the only voter of its quorum ({voters}), and no other quorum is supported yet: "
                "format the node with --standalone, and leave controller.quorum.voters out."
            )

    def needs_update(self, voter: VoterNode) -> bool:
        """Whether this voter is in the set, but with other endpoints or versions."""
        known = self._voters.get(voter.key.id)
        return known is not None and known.is_voter(voter.key) and known != voter

    def updated(self, voter: VoterNode) -> "VoterSet":
        """The set with a voter, which is in it, as it is now."""
        assert self.is_voter(voter.key), f"{voter} is not in {self}"
        return VoterSet((*(other for other in self if other.key.id != voter.key.id), voter))

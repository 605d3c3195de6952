"""The quorum of controllers that keeps the cluster's metadata."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Anywhere
from ottla.clients.admin.results import check
from ottla.clients.errors import UnknownServerError
from ottla.common.uuid import Uuid
from ottla.protocol.messages import describe_quorum as schema
from ottla.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse, Listener
from ottla.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse

METADATA_TOPIC = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """A node that has the metadata log; times are None where the leader does not know them."""

    replica_id: int
    directory_id: Uuid
    log_end_offset: int
    last_fetch_timestamp_ms: int | None
    last_caught_up_timestamp_ms: int | None


@dataclass(frozen=True, slots=True)
class RaftVoterEndpoint:
    """Where a controller is reached, by the name of its listener."""

    listener: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class QuorumInfo:
    """Who leads the quorum, who votes and who watches; ``nodes`` says where the voters are, if the cluster knows."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[ReplicaState, ...]
    observers: tuple[ReplicaState, ...]
    nodes: Mapping[int, tuple[RaftVoterEndpoint, ...]]


class QuorumPart(AdminPart):
    """The metadata quorum."""

    __slots__ = ()

    async def describe_metadata_quorum(self, *, timeout_ms: int | None = None) -> QuorumInfo:
        """How the quorum stands, as its leader sees it."""
        request = schema.DescribeQuorumRequest(
            topics=[
                schema.DescribeQuorumRequestTopicData(
                    topic_name=METADATA_TOPIC,
                    partitions=[schema.DescribeQuorumRequestPartitionData(partition_index=0)],
                )
            ]
        )
        return await self._ask_one(lambda _: request, described_quorum, timeout_ms, Anywhere.CONTROLLER)

    async def add_raft_voter(
        self,
        voter_id: int,
        directory_id: Uuid,
        endpoints: Iterable[RaftVoterEndpoint],
        *,
        cluster_id: str | None = None,
        timeout_ms: int | None = None,
    ) -> None:
        """Give a controller a vote; ``cluster_id``, if given, must be the cluster's."""
        listeners = [Listener(name=each.listener, host=each.host, port=each.port) for each in endpoints]

        def request(left_ms: int) -> AddRaftVoterRequest:
            return AddRaftVoterRequest(
                cluster_id=cluster_id,
                timeout_ms=left_ms,
                voter_id=voter_id,
                voter_directory_id=directory_id,
                listeners=listeners,
            )

        await self._ask_one(request, _done, timeout_ms, Anywhere.CONTROLLER)

    async def remove_raft_voter(
        self, voter_id: int, directory_id: Uuid, *, cluster_id: str | None = None, timeout_ms: int | None = None
    ) -> None:
        """Take a controller's vote; ``cluster_id``, if given, must be the cluster's."""
        request = RemoveRaftVoterRequest(cluster_id=cluster_id, voter_id=voter_id, voter_directory_id=directory_id)
        await self._ask_one(lambda _: request, _done, timeout_ms, Anywhere.CONTROLLER)


def _done(response: AddRaftVoterResponse | RemoveRaftVoterResponse) -> None:
    check(response.error_code, response.error_message)


def described_quorum(response: schema.DescribeQuorumResponse) -> QuorumInfo:
    """Read the state of the one partition that there is."""
    check(response.error_code, response.error_message)
    partitions = [each for topic in response.topics for each in topic.partitions if topic.topic_name == METADATA_TOPIC]
    if len(partitions) != 1:
        raise UnknownServerError(f"The answer has {len(partitions)} partitions of {METADATA_TOPIC} instead of one")
    partition = partitions[0]
    check(partition.error_code, partition.error_message)
    return QuorumInfo(
        partition.leader_id,
        partition.leader_epoch,
        partition.high_watermark,
        tuple(_replica(each) for each in partition.current_voters),
        tuple(_replica(each) for each in partition.observers),
        {
            node.node_id: tuple(RaftVoterEndpoint(each.name, each.host, each.port) for each in node.listeners)
            for node in response.nodes
        },
    )


def _replica(state: schema.ReplicaState) -> ReplicaState:
    fetched_ms, caught_up_ms = state.last_fetch_timestamp, state.last_caught_up_timestamp
    return ReplicaState(
        state.replica_id,
        state.replica_directory_id,
        state.log_end_offset,
        fetched_ms if fetched_ms >= 0 else None,
        caught_up_ms if caught_up_ms >= 0 else None,
    )

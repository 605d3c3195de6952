"""What both group protocols have in common: requests out, answers in, duties for the user."""

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Final, NamedTuple, Protocol

from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.consumer.membership import MembershipState, Subscription
from ottla.clients.errors import RebalanceInProgressError
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.message import Message

NEVER_MS: Final = 2**62
"""Later than any time."""


class CommitWaitsError(RebalanceInProgressError):
    """The partitions are still ours and the rebalance goes on by itself: the commit can wait for its end."""

    retriable = True


class DutyKind(Enum):
    """What must happen to partitions in the user's task."""

    REVOKE = "revoke"
    """Stop, commit if auto commit is on, tell the listener, forget."""
    LOSE = "lose"
    """Stop, tell the listener, forget: nothing may be committed."""
    ASSIGN = "assign"
    """Add, tell the listener."""


class Duty(NamedTuple):
    """Work for the user's task; the machine waits until it is told that it is done."""

    kind: DutyKind
    partitions: frozenset[TopicPartition]


class MemberMachine(Protocol):
    """A member of a group without its network. All times are monotonic.

    The driver sends what ``next_request`` gives until it gives None, looks again at ``deadline_ms`` or after any other
    call, and reports each answer or failure with the very request that it belongs to. In the user's task it takes a
    ``duty``, performs it, and reports ``done``.
    """

    @property
    def state(self) -> MembershipState:
        """Where the member stands."""

    @property
    def reason(self) -> str:
        """One sentence for people."""

    @property
    def error(self) -> KafkaError | None:
        """Why it can never be in this group."""

    @property
    def owned(self) -> frozenset[TopicPartition]:
        """What the user has: assigned and not yet revoked or lost."""

    @property
    def group_metadata(self) -> ConsumerGroupMetadata:
        """Group, member and generation."""

    @property
    def wanted_topics(self) -> Collection[str] | None:
        """The topics whose metadata it must see; None: all."""

    @property
    def needs_metadata(self) -> bool:
        """Whether it waits for topics that the metadata does not know."""

    def start(self, subscription: Subscription, now_ms: int) -> None:
        """Begin to join, or change the subscription."""

    def update_metadata(self, metadata: ClusterMetadata) -> None:
        """The cluster changed, or may have."""

    def request_rejoin(self, reason: str) -> None:
        """Ask for a rebalance."""

    def poll(self, now_ms: int) -> None:
        """The user is alive."""

    def next_request(self, now_ms: int) -> Message | None:
        """What to send to the coordinator now."""

    def handle_response(self, request: Message, response: Message, now_ms: int) -> bool:
        """An answer came. False: the broker is not the coordinator any more; find the new one."""

    def handle_failure(self, request: Message, error: KafkaError, now_ms: int) -> None:
        """No answer came; the driver looks for the coordinator again."""

    def is_session_over(self, now_ms: int) -> bool:
        """Whether the coordinator was silent for too long: look for it again. True once."""

    def deadline_ms(self, now_ms: int) -> int:
        """When ``next_request`` may give something without another event."""

    def needs_user(self) -> bool:
        """Whether a duty, an error or a stall waits for the user's next poll."""

    def duty(self) -> Duty | None:
        """What to do in the user's task, if anything; the same until it is done."""

    def postpone(self) -> None:
        """The duty was not performed: it comes again."""

    def done(self, duty: Duty) -> None:
        """The duty was performed, whatever its listener raised."""

    def take_error(self) -> KafkaError | None:
        """An error that the user must hear once; the member tries again after that."""

    def commit_error(self, partitions: Collection[TopicPartition]) -> KafkaError | None:
        """Why offsets of these partitions cannot be committed now, if they cannot. Retriable: wait and ask again."""

    def commit_refused(self, sent: ConsumerGroupMetadata, code: int) -> KafkaError:
        """The coordinator refused a commit for who we are: what to tell the user; the member may be fenced by it."""

    def leaving_duty(self) -> Duty | None:
        """What to do with the partitions before leaving."""

    def leave(self, reason: str) -> Message | None:
        """Be out of the group: the request that says so, if the coordinator must be told."""


def by_topic(partitions: Collection[TopicPartition]) -> Mapping[str, list[int]]:
    """The indexes of each topic, both in order."""
    topics: dict[str, list[int]] = {}
    for partition in sorted(partitions):
        topics.setdefault(partition.topic, []).append(partition.partition)
    return topics

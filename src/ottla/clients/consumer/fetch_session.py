"""The client's half of a fetch session (KIP-227): the broker remembers what is fetched, requests say only what changed.

    no session (id 0, epoch 0): a full request asks for one
    in session (id, epoch n ≥ 1): incremental requests; each answer moves the epoch on, from 2³¹-1 back to 1
    renewing (id, epoch 0): something went wrong; a full request closes the old session and asks for another

One per node, one request at a time.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.messages.fetch import FetchPartition, FetchTopic, ForgottenTopic

NO_SESSION_ID: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_EPOCH_MAX: Final = (1 << 31) - 1
_NAMES_ONLY_VERSION: Final = 12
"""The last version of Fetch that names topics; later ones know them by id alone."""


class PartitionFetch(NamedTuple):
    """What is asked of one partition."""

    topic_id: Uuid
    fetch_offset: int
    current_leader_epoch: int
    max_bytes: int


class SessionRequest(NamedTuple):
    """The session's part of a FetchRequest."""

    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten: list[ForgottenTopic]
    max_version: int | None
    """12 if a topic's id is not known."""


class FetchSession:
    """What one node is known to remember. ``build``, send, then exactly one of ``answered`` and ``failed``."""

    __slots__ = ("_epoch", "_id", "_names", "_partitions", "_uses_ids")

    def __init__(self) -> None:
        self._id = NO_SESSION_ID
        self._epoch = INITIAL_EPOCH
        self._partitions: dict[TopicPartition, PartitionFetch] = {}
        self._names: dict[Uuid, str] = {}
        self._uses_ids = True

    @property
    def session_id(self) -> int:
        """0 as long as the node has given none."""
        return self._id

    @property
    def partitions(self) -> Mapping[TopicPartition, PartitionFetch]:
        """What the last request asked for in all: itself, and what it left unsaid."""
        return self._partitions

    def topic_name(self, topic_id: Uuid) -> str | None:
        """The name of a topic of the last request."""
        return self._names.get(topic_id)

    def build(self, wanted: Mapping[TopicPartition, PartitionFetch]) -> SessionRequest:
        """The request for these partitions, in this order."""
        uses_ids = all(fetch.topic_id != ZERO_UUID for fetch in wanted.values())
        if uses_ids != self._uses_ids:
            self._uses_ids = uses_ids
            self._epoch = INITIAL_EPOCH  # a session knows its topics by id or by name, not both
        known = self._partitions
        if self._epoch == INITIAL_EPOCH:
            changed: Mapping[TopicPartition, PartitionFetch] = wanted
            forgotten: list[tuple[TopicPartition, Uuid]] = []
        else:
            changed = {partition: fetch for partition, fetch in wanted.items() if known.get(partition) != fetch}
            forgotten = [
                (partition, fetch.topic_id)
                for partition, fetch in known.items()
                # A topic that was deleted and made again has another id: the old one is forgotten by that.
                if (now := wanted.get(partition)) is None or now.topic_id != fetch.topic_id
            ]
        self._partitions = dict(wanted)
        self._names = {fetch.topic_id: partition.topic for partition, fetch in wanted.items()}
        max_version = None if uses_ids else _NAMES_ONLY_VERSION
        return SessionRequest(self._id, self._epoch, _topics(changed), _forgotten(forgotten), max_version)

    def answered(self, error_code: int, session_id: int, answered: Mapping[TopicPartition, object]) -> str | None:
        """Take the answer's session fields; None if the answer can be used, otherwise what is wrong with it."""
        if error_code != ErrorCode.NONE:
            if error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._id = NO_SESSION_ID
            self._epoch = INITIAL_EPOCH
            return f"error {ErrorCode(error_code).name} for the fetch session"
        stray = [partition for partition in answered if partition not in self._partitions]
        missing = self._epoch == INITIAL_EPOCH and len(answered) < len(self._partitions)
        if stray or missing:
            self._epoch = INITIAL_EPOCH
            return f"an answer for partitions that were not asked for ({stray})" if stray else "an incomplete answer"
        if session_id == NO_SESSION_ID:
            self._epoch = INITIAL_EPOCH
        elif session_id != self._id or self._epoch == INITIAL_EPOCH:
            self._epoch = 1
        else:
            self._epoch = 1 if self._epoch == _EPOCH_MAX else self._epoch + 1
        self._id = session_id
        return None

    def failed(self) -> None:
        """No answer came: nobody knows what the node remembers."""
        self._epoch = INITIAL_EPOCH

    def final(self) -> SessionRequest | None:
        """The request that ends the session; None if there is none."""
        if self._id == NO_SESSION_ID:
            return None
        self._partitions = {}
        return SessionRequest(self._id, FINAL_EPOCH, [], [], None if self._uses_ids else _NAMES_ONLY_VERSION)


def _topics(partitions: Mapping[TopicPartition, PartitionFetch]) -> list[FetchTopic]:
    """Partitions side by side of one topic share an entry; their order is the broker's order of preference."""
    topics: list[FetchTopic] = []
    current: list[FetchPartition] = []
    for (topic, index), fetch in partitions.items():
        if not topics or topics[-1].topic != topic or topics[-1].topic_id != fetch.topic_id:
            current = []
            topics.append(FetchTopic(topic=topic, topic_id=fetch.topic_id, partitions=current))
        current.append(
            FetchPartition(
                partition=index,
                current_leader_epoch=fetch.current_leader_epoch,
                fetch_offset=fetch.fetch_offset,
                partition_max_bytes=fetch.max_bytes,
            )
        )
    return topics


def _forgotten(partitions: list[tuple[TopicPartition, Uuid]]) -> list[ForgottenTopic]:
    topics: dict[tuple[str, Uuid], list[int]] = {}
    for (topic, index), topic_id in partitions:
        topics.setdefault((topic, topic_id), []).append(index)
    return [
        ForgottenTopic(topic=topic, topic_id=topic_id, partitions=indexes)
        for (topic, topic_id), indexes in topics.items()
    ]

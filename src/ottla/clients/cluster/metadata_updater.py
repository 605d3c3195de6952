"""Which metadata a client wants, and when it asks for it. No sockets here: time and chance are arguments."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.clients.back_off import BackOff
from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.errors import error_for, invalidates_metadata
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.protocol.messages.metadata import MetadataResponse

if TYPE_CHECKING:
    from random import Random

TOPIC_IDLE_MS: Final = 300_000


class UpdatePlan(NamedTuple):
    """What to ask for: ``topics`` None is all, empty is none but the nodes. A partial answer leaves other topics be."""

    topics: tuple[str, ...] | None
    is_partial: bool


class MetadataSettings(NamedTuple):
    """What a client's configuration says of metadata, in ms."""

    max_age_ms: int = 300_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    rebootstrap_trigger_ms: int | None = 300_000
    """None never begins again with the bootstrap servers (``metadata.recovery.strategy=none``)."""
    topic_idle_ms: int = TOPIC_IDLE_MS


class MetadataUpdater:
    """BOOTSTRAPPING (nodes are those of the configuration) → KNOWN → BOOTSTRAPPING again when all known nodes are lost.

    In both an update is due at once when somebody wants one, else when the image is too old; it is under way from
    ``begin`` to ``succeeded`` or ``failed``. After a failure, and after an answer in which nothing had changed, the
    next one waits for the back-off. New topics wait only after a failure.

    Topics are wanted until further notice (``want``), or for as long as they are used now and then (``use``).
    """

    __slots__ = (
        "_attempt_since_ms",
        "_failures",
        "_is_update_wanted",
        "_new_topics",
        "_not_before_ms",
        "_plan",
        "_repetitions",
        "_settings",
        "_used_at_ms",
        "_wanted",
        "asks_known_nodes",
        "image",
        "is_bootstrapping",
        "last_error",
        "updated_at_ms",
    )

    def __init__(self, settings: MetadataSettings) -> None:
        self._settings = settings
        self._failures = BackOff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self._repetitions = BackOff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self._wanted: frozenset[str] | None = frozenset()
        self._used_at_ms: dict[str, int] = {}
        self._new_topics: set[str] = set()
        self._plan: UpdatePlan | None = None
        self._is_update_wanted = True
        self._not_before_ms = 0
        self._attempt_since_ms: int | None = None
        """When the first of the attempts that have failed in a row began."""
        self.image = ClusterMetadata()
        self.is_bootstrapping = True
        self.asks_known_nodes = True
        """False when a broker has said that it is no longer of our cluster: only bootstrap servers know better."""
        self.last_error: KafkaError | None = None
        """Why the last update failed; None after one that did not."""
        self.updated_at_ms: int | None = None

    def want(self, topics: Collection[str] | None) -> None:
        """Want these topics, instead of those of the last call; None for all. Used ones are wanted as well."""
        before = self._wanted
        self._wanted = None if topics is None else frozenset(topics)
        if self._wanted is not None:
            self._add_new(self._wanted)
        elif before is not None:
            self._is_update_wanted = True
            self._hurry()

    def use(self, topics: Collection[str], now_ms: int) -> None:
        """Want these topics until they have not been used for a while."""
        for topic in topics:
            self._used_at_ms[topic] = now_ms
        self._add_new(topics)

    def forget(self, topic: str) -> None:
        """Do not want a topic any more that was used."""
        self._used_at_ms.pop(topic, None)
        self._new_topics.discard(topic)

    def request_update(self) -> None:
        """Somebody has reason to think that the image is out of date."""
        self._is_update_wanted = True

    def due_at_ms(self) -> int:
        """When the next update should begin, unless one is under way."""
        if self._is_update_wanted or self._new_topics or self.updated_at_ms is None:
            return self._not_before_ms
        return max(self.updated_at_ms + self._settings.max_age_ms, self._not_before_ms)

    def begin(self, now_ms: int) -> UpdatePlan:
        """An update begins; what to ask for."""
        assert self._plan is None, "one update at a time"
        if self._attempt_since_ms is None:
            self._attempt_since_ms = now_ms
        is_old = self.updated_at_ms is None or now_ms - self.updated_at_ms >= self._settings.max_age_ms
        if self._new_topics and not self._is_update_wanted and not is_old:
            self._plan = UpdatePlan(tuple(sorted(self._new_topics)), is_partial=True)
        else:
            names = None if self._wanted is None else tuple(sorted(self._wanted | self._live_topics(now_ms)))
            # All that exist does not make those that do not: they are asked for by name after this.
            self._plan = UpdatePlan(names, is_partial=False)
            self._is_update_wanted = False
        if self._plan.topics is not None:
            self._new_topics.difference_update(self._plan.topics)
        return self._plan

    def succeeded(self, response: MetadataResponse, now_ms: int, rng: "Random") -> None:
        """The answer came: the image is new. An error of the answer as a whole counts as a failure."""
        if response.error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
            self.failed(error_for(response.error_code), now_ms, rng)
            if self._settings.rebootstrap_trigger_ms is not None:
                self._rebootstrap()
                self.asks_known_nodes = False
            return
        if response.error_code != ErrorCode.NONE or not response.brokers:
            reason = "The broker knows no brokers" if response.error_code == ErrorCode.NONE else ""
            self.failed(error_for(response.error_code or ErrorCode.BROKER_NOT_AVAILABLE, reason), now_ms, rng)
            return
        plan, before = self._end(), self.image
        keep: Collection[str] | None = None if plan.is_partial else ()
        self.image = before.merge(response, keep)
        self.is_bootstrapping = False
        self.asks_known_nodes = True
        self.updated_at_ms = now_ms
        self._attempt_since_ms = None
        self.last_error = None
        self._failures.reset()
        if _leaders(before) != _leaders(self.image):
            self._repetitions.reset()
            self._not_before_ms = now_ms
        else:
            self._not_before_ms = now_ms + self._repetitions.next_ms(rng)
        if any(_is_out_of_date(topic.error_code, topic.partitions) for topic in response.topics):
            self._is_update_wanted = True
        if self._new_topics:
            self._hurry()

    def failed(self, error: KafkaError, now_ms: int, rng: "Random") -> None:
        """No answer, or none of use."""
        plan = self._end()
        if plan.is_partial:
            assert plan.topics is not None
            self._new_topics.update(name for name in plan.topics if self._is_wanted(name))
        self._is_update_wanted |= not plan.is_partial
        self.last_error = error
        self._not_before_ms = now_ms + self._failures.next_ms(rng)
        trigger_ms, since_ms = self._settings.rebootstrap_trigger_ms, self._attempt_since_ms
        if trigger_ms is not None and since_ms is not None and now_ms - since_ms > trigger_ms:
            self._rebootstrap()

    def nodes_lost(self) -> None:
        """None of the nodes that are known can be reached or tried at the moment."""
        if self._settings.rebootstrap_trigger_ms is not None:
            self._rebootstrap()

    def learned(self, image: ClusterMetadata) -> None:
        """The image is newer than the last answer, because brokers named leaders of their own accord."""
        self.image = image

    def _rebootstrap(self) -> None:
        self.is_bootstrapping = True
        self._attempt_since_ms = None
        self._is_update_wanted = True

    def _end(self) -> UpdatePlan:
        plan, self._plan = self._plan, None
        assert plan is not None, "no update is under way"
        return plan

    def _add_new(self, topics: Collection[str]) -> None:
        known = self.image.topics
        new = [topic for topic in topics if topic not in known and topic not in self._new_topics]
        if new and not (self._plan is not None and self._plan.topics is not None and set(new) <= {*self._plan.topics}):
            self._new_topics.update(new)
            self._hurry()

    def _hurry(self) -> None:
        """Do not wait out a back-off, unless it is for a failure."""
        if self.last_error is None:
            self._not_before_ms = 0

    def _is_wanted(self, topic: str) -> bool:
        return topic in self._used_at_ms or (self._wanted is not None and topic in self._wanted)

    def _live_topics(self, now_ms: int) -> frozenset[str]:
        """Those in use; the others are forgotten."""
        oldest_ms = now_ms - self._settings.topic_idle_ms
        self._used_at_ms = {topic: at_ms for topic, at_ms in self._used_at_ms.items() if at_ms >= oldest_ms}
        return frozenset(self._used_at_ms)


def _is_out_of_date(error_code: int, partitions: Collection[object]) -> bool:
    codes = {error_code, *(partition.error_code for partition in partitions)}  # type: ignore[attr-defined]
    return any(code != ErrorCode.NONE and invalidates_metadata(code) for code in codes)


def _leaders(image: ClusterMetadata) -> dict[tuple[str, int], tuple[int, int]]:
    return {
        (name, number): (partition.leader_id, partition.leader_epoch)
        for name, topic in image.topics.items()
        for number, partition in topic.partitions.items()
    }

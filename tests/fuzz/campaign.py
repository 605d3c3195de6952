"""A run of the fuzzer against a node: every API and version on both listeners, and a healthy client beside."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from random import Random

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.server.api_tables import BROKER_APIS, CONTROLLER_APIS
from tests.fuzz.exclusions import is_excluded
from tests.fuzz.healthy_client import HealthyClient
from tests.fuzz.known_values import (
    HEALTHY_GROUP,
    HEALTHY_TOPIC,
    KEPT_TOPIC,
    NEEDED_TOPICS,
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    VOLATILE_TOPICS,
    known_values,
)
from tests.fuzz.learned import Learned
from tests.fuzz.link import Link
from tests.fuzz.mutations import UNDAMAGED, Frame, mutated, size_damaged, whole
from tests.fuzz.resources import open_files, resident_kib
from tests.fuzz.sound_examples import sound_examples
from tests.fuzz.stories import stories
from tests.fuzz.valid_requests import Valid, produce_request, request_header, valid_requests
from tests.ottla_broker import OttlaBroker
from tests.readiness import readable

BROKER_LINKS = 32
CONTROLLER_LINKS = 16
"""Many, because a request that changes metadata waits for the disk, and the connection's next one waits for it."""
VALID_EACH = 12
"""Valid requests of each API and version, from which all others are made."""
CONTROLLER_SHARE = 3
"""One frame of so many goes to the controller's listener."""
PRODUCE_SHARE = 0.3
"""Produce requests with one batch, for each request of any API to the broker's listener."""
SIZE_DAMAGED_SHARE = 0.03
CHECK_EVERY = 100
"""Frames between two checks of the healthy client."""
REPLACE_EVERY = 500
"""Frames between two times of creating the volatile topics again."""
TIDY_EVERY = 3000
"""Frames between two times of deleting what CreateTopics has left, and of looking at memory and files."""
TRANSACTIONS_LOST_EVERY = 6
"""Times of tidying between two losses of all transactions."""
PROPERTIES = {
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "100",
    "log.segment.delete.delay.ms": "100",
    "producer.id.expiration.ms": "1000",
    "producer.id.expiration.check.interval.ms": "500",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "group.min.session.timeout.ms": "10",
    "group.max.session.timeout.ms": "2000",
    "group.max.size": "30",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.assignment.interval.ms": "20",
    "group.consumer.max.size": "30",
    "transaction.max.timeout.ms": "5000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "transactional.id.expiration.ms": "2000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
}
"""What is gone is gone soon, so that what remains can be seen not to grow; and who waits for others waits briefly."""


@dataclass
class Report:
    """What a run has seen."""

    frames: int = 0
    broker: Counter[str] = field(default_factory=Counter)
    controller: Counter[str] = field(default_factory=Counter)
    stories: Counter[str] = field(default_factory=Counter)
    """Beside the other frames, and not among their number."""
    apis: Counter[str] = field(default_factory=Counter)
    mutations: Counter[str] = field(default_factory=Counter)
    excluded: int = 0
    checks: int = 0
    resident_kib: list[int] = field(default_factory=list)
    open_files: list[int] = field(default_factory=list)
    held: list[Frame] = field(default_factory=list)


class Campaign:
    """``total`` frames against ``node``, and stories beside.

    What they are follows from ``seed``; their timing, and what they have learned from answers, does not.
    """

    def __init__(self, node: OttlaBroker, total: int, seed: int) -> None:
        self._node = node
        self._total = total
        self._seed = seed
        self._correlation_ids = count(1)
        self._tidied = 1
        self.learned = Learned()
        self.codes: Counter[tuple[ApiKey, ErrorCode]] = Counter()
        """Of the answers of coordinators to requests without damage."""
        self.report = Report()
        self.client = HealthyClient(node.ports.broker, node.ports.controller, HEALTHY_TOPIC, HEALTHY_GROUP)

    def run(self) -> Report:
        """Drive all frames, two thirds of them at the broker's listener."""
        self._create_topics()
        self.client.find_coordinator()
        rng = Random(self._seed)
        report = self.report
        kept_id, broker_epoch = self.client.topics()[KEPT_TOPIC], self.client.broker_epoch()
        known = known_values(kept_id, broker_epoch, str(self._node.log_dir))
        examples = sound_examples(kept_id, broker_epoch, rng)
        to_broker = self._frames(valid_requests(BROKER_APIS, VALID_EACH, known, examples, rng), kept_id, rng)
        to_controller = self._frames(valid_requests(CONTROLLER_APIS, VALID_EACH, known, examples, rng), None, rng)
        to_broker = islice(to_broker, self._total - self._total // CONTROLLER_SHARE)
        to_controller = islice(to_controller, self._total // CONTROLLER_SHARE)
        links = [
            Link(self._node.ports.broker, self._to_the_end(to_broker), report.broker, self._answered)
            for _ in range(BROKER_LINKS)
        ]
        links += [Link(self._node.ports.controller, to_controller, report.controller) for _ in range(CONTROLLER_LINKS)]
        told = stories(KEPT_TOPIC, kept_id, self._correlation_ids, rng)
        links += [
            Link(self._node.ports.broker, story.frames(), report.stories, story.answered, pipeline=1) for story in told
        ]
        checked = replaced = tidied = 0
        while live := [link for link in links if not link.is_done]:
            moved = [link.turn() for link in live]
            if not any(moved):
                readable([link.descriptor for link in live], 0.02)
            report.frames = report.broker.total() + report.controller.total()
            if report.frames >= self._total:
                for story in told:
                    story.is_over = True
            if report.frames >= checked + CHECK_EVERY:
                checked = report.frames
                self.client.check()
                report.checks += 1
            if report.frames >= replaced + REPLACE_EVERY:
                replaced = report.frames
                self._create_topics()
            if report.frames >= tidied + TIDY_EVERY:
                tidied = report.frames
                self._tidy()
        for learned in (self.learned, *(story.learned for story in told)):
            self.codes += learned.codes
        for link in links:
            report.held += link.held
            link.close()
        self.client.check()
        return report

    def _frames(self, valid: list[list[Valid]], kept_id: Uuid | None, rng: Random) -> Iterator[Frame]:
        """Every API and version in turn, without end; and a produce after some of them, where it is served."""
        while True:
            for requests in valid:
                yield from self._admitted(rng.choice(requests), rng)
                if kept_id is not None and rng.random() < PRODUCE_SHARE:
                    yield self._produce(kept_id, rng)

    def _to_the_end(self, frames: Iterator[Frame]) -> Iterator[Frame]:
        """Frames that are shared with other links, and one that is answered: a produce with acks=0 is not."""
        yield from frames
        request = Valid(ApiKey.API_VERSIONS, 0, request_header(ApiKey.API_VERSIONS, 0), b"", ())
        yield whole(request, next(self._correlation_ids))

    def _admitted(self, request: Valid, rng: Random) -> Iterator[Frame]:
        make = size_damaged if rng.random() < SIZE_DAMAGED_SHARE else mutated
        frame = self._filled(make(request, next(self._correlation_ids), rng))
        if is_excluded(frame.data):
            self.report.excluded += 1
            return
        self.report.apis[f"{request.api_key.api_name} v{request.version}"] += 1
        self.report.mutations[frame.mutation] += 1
        yield frame

    def _produce(self, kept_id: Uuid, rng: Random) -> Frame:
        version = rng.randrange(BROKER_APIS[ApiKey.PRODUCE].lowest, BROKER_APIS[ApiKey.PRODUCE].highest + 1)
        request = produce_request(version, KEPT_TOPIC, kept_id, self.learned.producers, rng)
        self.report.mutations["batch"] += 1
        return whole(request, next(self._correlation_ids))

    def _filled(self, frame: Frame) -> Frame:
        return frame._replace(data=self.learned.fill(frame.data))

    def _answered(self, frame: Frame, answer: memoryview) -> None:
        if frame.mutation == UNDAMAGED:
            self.learned.answered(frame.data, answer)

    def _create_topics(self) -> None:
        there = self.client.topics()
        for topic in (HEALTHY_TOPIC, KEPT_TOPIC, *VOLATILE_TOPICS):
            if topic == HEALTHY_TOPIC and topic not in there:
                # The cluster's retention is changed by the frames, and may be.
                self.client.create_topic(topic, configs={"retention.ms": "-1", "retention.bytes": "-1"})
            elif topic not in there:
                self.client.create_topic(topic, partitions=2)

    def _tidy(self) -> None:
        """Delete the topics, groups and records that nobody needs, and look at what the node holds.

        Now and then the transaction coordinator loses its topic, and has to begin anew.
        """
        there = set(self.client.topics())
        assert {HEALTHY_TOPIC, KEPT_TOPIC, OFFSETS_TOPIC} <= there
        needed = NEEDED_TOPICS if self._tidied % TRANSACTIONS_LOST_EVERY else NEEDED_TOPICS - {TRANSACTIONS_TOPIC}
        self._tidied += 1
        self.client.delete_topics(sorted(there - needed))
        self.client.delete_other_groups()
        self.client.delete_records(KEPT_TOPIC, (0, 1))
        self.report.resident_kib.append(resident_kib(self._node.pid))
        self.report.open_files.append(open_files(self._node.pid))

"""A run of the fuzzer against a node: every API and version on both listeners, and a healthy client beside."""

import select
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from random import Random

from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.server.api_tables import BROKER_APIS, CONTROLLER_APIS
from tests.fuzz.exclusions import is_excluded
from tests.fuzz.healthy_client import HealthyClient
from tests.fuzz.known_values import HEALTHY_TOPIC, KEPT_TOPIC, VOLATILE_TOPICS, known_values
from tests.fuzz.link import Link
from tests.fuzz.mutations import Frame, mutated, size_damaged, whole
from tests.fuzz.resources import open_files, resident_kib
from tests.fuzz.sound_examples import sound_examples
from tests.fuzz.valid_requests import Valid, produce_request, request_header, valid_requests
from tests.ottla_broker import OttlaBroker

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
PROPERTIES = {
    "log.initial.task.delay.ms": "100",
    "log.segment.delete.delay.ms": "100",
    "producer.id.expiration.ms": "1000",
    "producer.id.expiration.check.interval.ms": "500",
}
"""What is gone is gone soon, so that what remains can be seen not to grow."""


@dataclass
class Report:
    """What a run has seen."""

    frames: int = 0
    broker: Counter[str] = field(default_factory=Counter)
    controller: Counter[str] = field(default_factory=Counter)
    apis: Counter[str] = field(default_factory=Counter)
    mutations: Counter[str] = field(default_factory=Counter)
    excluded: int = 0
    checks: int = 0
    resident_kib: list[int] = field(default_factory=list)
    open_files: list[int] = field(default_factory=list)
    held: list[Frame] = field(default_factory=list)


class Campaign:
    """``total`` frames against ``node``; what they are follows from ``seed``, their timing does not."""

    def __init__(self, node: OttlaBroker, total: int, seed: int) -> None:
        self._node = node
        self._total = total
        self._seed = seed
        self._correlation_ids = count(1)
        self.report = Report()
        self.client = HealthyClient(node.ports.broker, node.ports.controller, HEALTHY_TOPIC)

    def run(self) -> Report:
        """Drive all frames, two thirds of them at the broker's listener."""
        self._create_topics()
        rng = Random(self._seed)
        report = self.report
        kept_id, broker_epoch = self.client.topics()[KEPT_TOPIC], self.client.broker_epoch()
        known = known_values(kept_id, broker_epoch, str(self._node.log_dir))
        examples = sound_examples(kept_id, broker_epoch, rng)
        to_broker = self._frames(valid_requests(BROKER_APIS, VALID_EACH, known, examples, rng), kept_id, rng)
        to_controller = self._frames(valid_requests(CONTROLLER_APIS, VALID_EACH, known, examples, rng), None, rng)
        to_broker = islice(to_broker, self._total - self._total // CONTROLLER_SHARE)
        to_controller = islice(to_controller, self._total // CONTROLLER_SHARE)
        links = [Link(self._node.ports.broker, self._to_the_end(to_broker), report.broker) for _ in range(BROKER_LINKS)]
        links += [Link(self._node.ports.controller, to_controller, report.controller) for _ in range(CONTROLLER_LINKS)]
        checked = replaced = tidied = 0
        while live := [link for link in links if not link.is_done]:
            moved = [link.turn() for link in live]
            if not any(moved):
                select.select([link.descriptor for link in live], [], [], 0.02)
            report.frames = report.broker.total() + report.controller.total()
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
        frame = make(request, next(self._correlation_ids), rng)
        if is_excluded(frame.data):
            self.report.excluded += 1
            return
        self.report.apis[f"{request.api_key.api_name} v{request.version}"] += 1
        self.report.mutations[frame.mutation] += 1
        yield frame

    def _produce(self, kept_id: Uuid, rng: Random) -> Frame:
        version = rng.randrange(BROKER_APIS[ApiKey.PRODUCE].lowest, BROKER_APIS[ApiKey.PRODUCE].highest + 1)
        request = produce_request(version, KEPT_TOPIC, kept_id, rng)
        self.report.mutations["batch"] += 1
        return whole(request, next(self._correlation_ids))

    def _create_topics(self) -> None:
        there = self.client.topics()
        for topic in (HEALTHY_TOPIC, KEPT_TOPIC, *VOLATILE_TOPICS):
            if topic == HEALTHY_TOPIC and topic not in there:
                # The cluster's retention is changed by the frames, and may be.
                self.client.create_topic(topic, configs={"retention.ms": "-1", "retention.bytes": "-1"})
            elif topic not in there:
                self.client.create_topic(topic, partitions=2)

    def _tidy(self) -> None:
        """Delete the topics that nobody needs, and look at what the node holds."""
        there = set(self.client.topics())
        assert {HEALTHY_TOPIC, KEPT_TOPIC} <= there
        self.client.delete_topics(sorted(there - {HEALTHY_TOPIC, KEPT_TOPIC}))
        self.report.resident_kib.append(resident_kib(self._node.pid))
        self.report.open_files.append(open_files(self._node.pid))

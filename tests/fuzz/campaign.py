"""A run of the fuzzer against a node: frames of every API and version on both listeners, and a healthy client beside."""

import select
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random

from ottla.server.api_tables import BROKER_APIS, CONTROLLER_APIS
from tests.fuzz.exclusions import is_excluded
from tests.fuzz.healthy_client import HealthyClient
from tests.fuzz.known_values import HEALTHY_TOPIC, KEPT_TOPIC, VOLATILE_TOPICS, known_values
from tests.fuzz.link import Link
from tests.fuzz.mutations import Frame, mutated, size_damaged
from tests.fuzz.resources import open_files, resident_kib
from tests.fuzz.valid_requests import Valid, valid_requests
from tests.ottla_broker import OttlaBroker

BROKER_LINKS = 8
CONTROLLER_LINKS = 4
VALID_EACH = 12
"""Valid requests of each API and version, from which all others are made."""
SIZE_DAMAGED_SHARE = 0.03
CHECK_EVERY = 100
"""Frames between two checks of the healthy client."""
TIDY_EVERY = 5000
"""Frames between two times of deleting what CreateTopics has left, and of looking at memory and files."""


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
        for topic in (HEALTHY_TOPIC, KEPT_TOPIC, *VOLATILE_TOPICS):
            self.client.create_topic(topic, partitions=1 if topic == HEALTHY_TOPIC else 2)
        known = known_values(self.client.topics()[KEPT_TOPIC], str(self._node.log_dir))
        rng = Random(self._seed)
        report = self.report
        to_broker = self._frames(valid_requests(BROKER_APIS, VALID_EACH, known, rng), self._total * 2 // 3, rng)
        to_controller = self._frames(valid_requests(CONTROLLER_APIS, VALID_EACH, known, rng), self._total // 3 + 1, rng)
        links = [Link(self._node.ports.broker, to_broker, report.broker) for _ in range(BROKER_LINKS)]
        links += [Link(self._node.ports.controller, to_controller, report.controller) for _ in range(CONTROLLER_LINKS)]
        checked = tidied = 0
        while live := [link for link in links if not link.is_done]:
            if not any([link.turn() for link in live]):
                select.select([link.descriptor for link in live], [], [], 0.02)
            report.frames = report.broker.total() + report.controller.total()
            if report.frames >= checked + CHECK_EVERY:
                checked = report.frames
                self.client.check()
                report.checks += 1
            if report.frames >= tidied + TIDY_EVERY:
                tidied = report.frames
                self._tidy()
        for link in links:
            report.held += link.suspects
            link.close()
        self.client.check()
        return report

    def _frames(self, valid: list[list[Valid]], total: int, rng: Random) -> Iterator[Frame]:
        """Every API and version in turn."""
        made = 0
        while made < total:
            for requests in valid:
                request = rng.choice(requests)
                make = size_damaged if rng.random() < SIZE_DAMAGED_SHARE else mutated
                frame = make(request, next(self._correlation_ids), rng)
                if is_excluded(frame.data):
                    self.report.excluded += 1
                    continue
                self.report.apis[f"{request.api_key.api_name} v{request.version}"] += 1
                self.report.mutations[frame.mutation] += 1
                made += 1
                yield frame

    def _tidy(self) -> None:
        """Bring the topics back to those of the beginning, and look at what the node holds."""
        wanted = {HEALTHY_TOPIC, KEPT_TOPIC, *VOLATILE_TOPICS}
        there = set(self.client.topics())
        assert {HEALTHY_TOPIC, KEPT_TOPIC} <= there
        self.client.delete_topics(sorted(there - {HEALTHY_TOPIC, KEPT_TOPIC}))
        for topic in sorted(wanted - {HEALTHY_TOPIC, KEPT_TOPIC}):
            self.client.create_topic(topic, partitions=2)
        self.report.resident_kib.append(resident_kib(self._node.pid))
        self.report.open_files.append(open_files(self._node.pid))

"""Asks a cluster for partitions and their offsets: one round trip a broker when nothing has changed."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from ottla.clients.back_off import BackOff
from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.offset_lookup import (
    IsolationLevel,
    LookupResult,
    by_leader,
    list_offsets_request,
    read_list_offsets,
)
from ottla.clients.errors import KafkaTimeoutError, UnknownTopicOrPartitionError, error_for
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.config.client_configs import ConsumerConfig
from ottla.spark.source.offset_bound import LATEST
from ottla.spark.source.offset_json import Offsets
from ottla.spark.source.topic_selection import TopicSelection, why_unusable

ABSENCE_GRACE_MS: Final = 2000
"""How long a topic that a broker does not know is looked for: it may have come, or the broker, a moment ago."""


class Topology(NamedTuple):
    """The partitions that are there, and the topics and partitions that were asked for by name and are not."""

    partitions: set[TopicPartition]
    missing: list[str]
    """A sentence for each."""


class ClusterOffsets:
    """New → ``start`` → ``close``; one event loop. All methods raise KafkaError, after ``default.api.timeout.ms``."""

    def __init__(
        self, config: ConsumerConfig, selection: TopicSelection, *, read_committed: bool, metadata_ttl_ms: int
    ) -> None:
        """Partitions are looked up again when what is known of them is older than ``metadata_ttl_ms``."""
        self.cluster = ClusterClient(config.common, allow_auto_topic_creation=False)
        self._config = config
        self._selection = selection
        self._isolation = IsolationLevel.READ_COMMITTED if read_committed else IsolationLevel.READ_UNCOMMITTED
        self._ttl_ms = metadata_ttl_ms
        self._image: ClusterMetadata | None = None
        self._described_ms = 0
        self._absent: set[str] = set()

    async def start(self) -> None:
        """Find the cluster."""
        await self.cluster.start()

    async def close(self) -> None:
        """Close all connections."""
        await self.cluster.close()

    async def topology(self) -> Topology:
        """The selected partitions, looked up now.

        Raises the error of a topic that is there and cannot be read. A topic that is not there is waited for a moment,
        once.
        """
        deadline_ms = self._now_ms() + self._config.default_api_timeout_ms
        grace_ms = self._now_ms() + ABSENCE_GRACE_MS
        back_off = self._back_off()
        while True:
            image = await self._describe(deadline_ms)
            unusable = self._selection.unusable(image)
            absent = {name for name, code in unusable.items() if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
            failing = {name: code for name, code in unusable.items() if name not in absent}
            for name, code in failing.items():
                if not error_for(code).retriable or self._now_ms() >= deadline_ms:
                    raise error_for(code, why_unusable(name, code))
            if not failing and (absent <= self._absent or self._now_ms() >= grace_ms):
                break
            await self._pause(back_off)
        self._absent = absent
        missing = [why_unusable(name, unusable[name]) for name in sorted(absent)]
        numbers = sorted(each for each in self._selection.missing_partitions(image) if each.topic not in absent)
        missing += [f"Partition {partition} does not exist" for partition in numbers]
        return Topology(self._selection.choose(image), missing)

    async def offsets(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """The first offset at or after each time (-1: the end, -2: the beginning); None if no record is so late.

        A partition that goes meanwhile is left out.
        """
        if times and self._image is None:
            await self.topology()
        deadline_ms = self._now_ms() + self._config.default_api_timeout_ms
        back_off = self._back_off()
        found: dict[TopicPartition, int | None] = {}
        wanted = dict(times)
        while wanted:
            answers, reasons = await self._ask_leaders(wanted)
            found |= answers
            wanted = {partition: time for partition, time in wanted.items() if partition not in answers}
            if not wanted:
                break
            if self._now_ms() >= deadline_ms:
                why = ", ".join(f"{partition}: {reasons.get(partition, 'no answer')}" for partition in sorted(wanted))
                raise KafkaTimeoutError(
                    f"Offsets could not be looked up in {self._config.default_api_timeout_ms} ms ({why})"
                )
            await self._pause(back_off)
            there = (await self.topology()).partitions
            wanted = {partition: time for partition, time in wanted.items() if partition in there}
        return found

    async def ends(self, partitions: Collection[TopicPartition], end: int) -> Offsets:
        """The beginnings (-2) or the ends (-1) of partitions."""
        found = await self.offsets(dict.fromkeys(partitions, end))
        return {partition: offset for partition, offset in found.items() if offset is not None}

    async def latest(self) -> Offsets:
        """The ends of all selected partitions. What is known of these is used, and looked up anew at the same time."""
        image = self._image
        if image is None:
            return await self.ends((await self.topology()).partitions, LATEST)
        known = self._selection.choose(image)
        if self._now_ms() - self._described_ms < self._ttl_ms:
            return await self.ends(known, LATEST)
        # The questions leave together: while nothing has changed this takes no longer than one of them.
        (answers, _), topology = await asyncio.gather(
            self._ask_leaders(dict.fromkeys(known, LATEST), image), self.topology()
        )
        ends = {each: offset for each, offset in answers.items() if offset is not None and each in topology.partitions}
        return ends | await self.ends(topology.partitions - ends.keys(), LATEST)

    async def _describe(self, deadline_ms: int) -> ClusterMetadata:
        left_ms = max(deadline_ms - self._now_ms(), 1)
        self._image = await self.cluster.describe_topics(self._selection.names, timeout_ms=left_ms)
        self._described_ms = self._now_ms()
        return self._image

    async def _ask_leaders(
        self, times: Mapping[TopicPartition, int], image: ClusterMetadata | None = None
    ) -> tuple[dict[TopicPartition, int | None], dict[TopicPartition, str]]:
        """What the leaders say, asked once; and why not all have."""
        image = image or self._image
        assert image is not None, "offsets are asked of partitions that are known"
        led, leaderless = by_leader(times, image)
        reasons = dict.fromkeys(leaderless, "it has no leader")
        timeout_ms = self._config.common.request_timeout_ms

        async def ask(node_id: int, partitions: Collection[TopicPartition]) -> LookupResult | KafkaError:
            wanted = {partition: times[partition] for partition in partitions}
            request = list_offsets_request(wanted, image, self._isolation, timeout_ms)
            try:
                return read_list_offsets(await self.cluster.send(image.nodes[node_id], request, timeout_ms=timeout_ms))
            except KafkaError as error:
                if not error.retriable:
                    raise
                return error

        found: dict[TopicPartition, int | None] = {}
        results = await asyncio.gather(*(ask(node_id, partitions) for node_id, partitions in led.items()))
        for partitions, result in zip(led.values(), results, strict=True):
            if isinstance(result, KafkaError):
                reasons |= dict.fromkeys(partitions, str(result))
                continue
            if result.fatal is not None:
                raise result.fatal
            found |= {each: None if place is None else place.offset for each, place in result.found.items()}
            reasons |= {partition: ErrorCode(code).name for partition, code in result.retry.items()}
        return found, reasons

    def _back_off(self) -> BackOff:
        return BackOff(self._config.common.retry_backoff_ms, self._config.common.retry_backoff_max_ms)

    async def _pause(self, back_off: BackOff) -> None:
        await self.cluster.runtime.sleep_ms(back_off.next_ms(self.cluster.runtime.rng))

    def _now_ms(self) -> int:
        return self.cluster.runtime.clock.monotonic_ms()


def missing_error(topology: Topology) -> KafkaError | None:
    """What a query that begins says of what it does not find."""
    return UnknownTopicOrPartitionError("; ".join(topology.missing)) if topology.missing else None

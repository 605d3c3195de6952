"""Keeps a task's fetches in flight on the clients' loop, and hands what comes to the task's thread."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Any

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.completed_fetch import CompletedFetch
from ottla.clients.consumer.offset_lookup import LookupResult, list_offsets_request, read_list_offsets
from ottla.common.errors import KafkaError
from ottla.common.uuid import Uuid
from ottla.network.node import Node
from ottla.protocol.messages.fetch import FetchResponse
from ottla.spark.scan.fetch_settings import FetchSettings
from ottla.spark.scan.offset_range import OffsetRange
from ottla.spark.scan.scan_machine import ScanMachine
from ottla.spark.scan.scan_plan import ScanFetch, ScanLookup, fetch_request, log_bounds

logger = logging.getLogger(__name__)

_EARLIEST, _EARLIEST_LOCAL, _LATEST = -2, -4, -1
_UPDATE_WAIT_MS = 1_000

Handed = CompletedFetch | BaseException | None
"""Records, what ended the scan, or None at its end."""


class RangeFetcher:
    """One scan, in the loop's thread: ``run`` is its task; ``released`` when the records of an answer were used.

    ``out`` gets the answers, and at last None or an exception; what waits in it is bounded by the machine.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        ranges: Sequence[OffsetRange],
        settings: FetchSettings,
        out: "SimpleQueue[Handed]",
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._out = out
        self._machine = ScanMachine(ranges, settings, cluster.runtime.rng)
        self._wake = asyncio.Event()
        self._under_way: set[asyncio.Future[Any]] = set()
        self._error: BaseException | None = None

    def released(self, size_in_bytes: int) -> None:
        """There is room for more."""
        self._machine.released(size_in_bytes)
        self._wake.set()

    async def run(self) -> None:
        """Fetch everything; its outcome is in ``out``."""
        try:
            await self._fetch_all()
        except KafkaError as error:
            self._out.put(error)
        except asyncio.CancelledError:
            raise
        except BaseException as bug:  # of ours: the task must not wait for ever
            self._out.put(bug)
            raise
        else:
            self._out.put(None)
        finally:
            for future in self._under_way:
                future.cancel()

    async def _fetch_all(self) -> None:
        machine, cluster = self._machine, self._cluster
        for topic in machine.topics:
            cluster.use_topic(topic)
        while not machine.is_done:
            self._wake.clear()
            now_ms = self._now_ms()
            plan = machine.plan(cluster.metadata, now_ms)
            for fetch in plan.fetches:
                self._send(fetch)
            for lookup in plan.lookups:
                self._start(self._look_up(lookup))
            if machine.is_metadata_stale:
                machine.is_metadata_stale = False
                cluster.request_update()
                self._start(self._wait_for_update())
            await self._sleep(machine.next_time_ms(now_ms), now_ms)
            if self._error is not None:
                raise self._error

    async def _sleep(self, until_ms: int | None, now_ms: int) -> None:
        timer = None
        if until_ms is not None:
            timer = asyncio.get_running_loop().call_later(max(until_ms - now_ms, 1) / 1000, self._wake.set)
        await self._wake.wait()
        if timer is not None:
            timer.cancel()

    def _send(self, fetch: ScanFetch) -> None:
        request, max_version = fetch_request(fetch, self._cluster.metadata, self._settings)
        answer = asyncio.ensure_future(self._cluster.send(fetch.node_id, request, max_version=max_version))
        self._under_way.add(answer)
        answer.add_done_callback(partial(self._answered, fetch, self._cluster.metadata))

    def _answered(self, fetch: ScanFetch, metadata: ClusterMetadata, answer: "asyncio.Future[Any]") -> None:
        self._under_way.discard(answer)
        self._wake.set()
        if answer.cancelled():
            return
        try:
            self._take(fetch, metadata, answer)
        except Exception as error:  # noqa: BLE001 - the end of the scan, or a bug of ours: raised in the task's thread
            self._error = error

    def _take(self, fetch: ScanFetch, metadata: ClusterMetadata, answer: "asyncio.Future[Any]") -> None:
        now_ms = self._now_ms()
        try:
            response: FetchResponse = answer.result()
        except KafkaError as error:
            self._machine.failed(fetch, error, now_ms)
            return
        names = {metadata.topic_id(topic): topic for topic in {cursor.wanted.topic for cursor in fetch.cursors}}
        self._learn_leaders(response, names)
        for completed in self._machine.answered(fetch, response, names, now_ms):
            self._out.put(completed)

    def _learn_leaders(self, response: FetchResponse, names: dict[Uuid, str]) -> None:
        """Brokers that do not lead a partition say who does (KIP-951)."""
        leaders = {
            (topic.topic or names.get(topic.topic_id, ""), data.partition_index): (
                leader.leader_id,
                leader.leader_epoch,
            )
            for topic in response.responses
            for data in topic.partitions
            if (leader := data.current_leader) is not None and leader.leader_id >= 0
        }
        if leaders:
            self._cluster.learn_leaders(
                leaders, [Node(each.node_id, each.host, each.port) for each in response.node_endpoints]
            )

    async def _look_up(self, lookup: ScanLookup) -> None:
        try:
            answers = [await self._list_offsets(lookup, each) for each in (_EARLIEST, _EARLIEST_LOCAL, _LATEST)]
        except KafkaError as error:
            self._machine.lookup_failed(lookup, error, self._now_ms())
        else:
            self._machine.looked_up(lookup, log_bounds(*answers), self._now_ms())
        self._wake.set()

    async def _list_offsets(self, lookup: ScanLookup, which: int) -> LookupResult:
        request = list_offsets_request(
            {cursor.partition: which for cursor in lookup.cursors},
            self._cluster.metadata,
            self._settings.isolation,
            self._settings.timeout_ms,
        )
        answer = read_list_offsets(await self._cluster.send(lookup.node_id, request))
        if answer.fatal is not None:
            raise answer.fatal
        return answer

    async def _wait_for_update(self) -> None:
        await self._cluster.wait_for_update(_UPDATE_WAIT_MS)
        self._wake.set()

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._under_way.add(task)
        task.add_done_callback(self._task_ended)

    def _task_ended(self, task: "asyncio.Future[Any]") -> None:
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = error
            self._wake.set()

    def _now_ms(self) -> int:
        return self._cluster.runtime.clock.monotonic_ms()

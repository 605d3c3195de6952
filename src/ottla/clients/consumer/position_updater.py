"""Sees that every assigned partition gets a position it can be fetched from: committed, looked up, validated.

A thin driver: what is asked and what answers mean is :mod:`offset_lookup`, :mod:`position_validation` and the
subscription's own business.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Protocol

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.consumer.offset_lookup import (
    IsolationLevel,
    LookupResult,
    by_leader,
    list_offsets_request,
    read_list_offsets,
)
from ottla.clients.consumer.partition_state import FetchState
from ottla.clients.consumer.position_validation import complete_validation, leader_epoch_request
from ottla.clients.consumer.subscription_state import SubscriptionState
from ottla.clients.errors import NoOffsetForPartitionError, UnsupportedVersionError
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.list_offsets import ListOffsetsResponse
from ottla.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochResponse

logger = logging.getLogger(__name__)

FetchCommitted = Callable[[Collection[TopicPartition]], Awaitable[Mapping[TopicPartition, OffsetAndMetadata | None]]]


class UpdaterOwner(Protocol):
    """Who drives it."""

    def on_positions_changed(self) -> None:
        """Something may be fetched now, or can be asked again later."""

    def on_error(self, error: KafkaError) -> None:
        """The user must know."""

    def on_bug(self, bug: Exception) -> None:
        """Something of ours broke, and nobody else would hear of it."""


class PositionUpdater:
    """``step`` starts what is due and not under way; each lookup ends in a position, an error, or another try later."""

    def __init__(
        self,
        cluster: ClusterClient,
        subscription: SubscriptionState,
        owner: UpdaterOwner,
        *,
        isolation: IsolationLevel,
        request_timeout_ms: int,
        retry_backoff_ms: int,
    ) -> None:
        self._cluster = cluster
        self._subscription = subscription
        self._owner = owner
        self._isolation = isolation
        self._request_timeout_ms = request_timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._under_way: set[TopicPartition] = set()
        self.fetch_committed: FetchCommitted | None = None
        """The group's offsets; None without a group."""

    @property
    def next_retry_ms(self) -> int | None:
        """When something that waits may be tried again."""
        times = [
            state.retry_at_ms
            for partition, state in self._subscription.partitions.items()
            if not state.has_valid_position and partition not in self._under_way and state.retry_at_ms
        ]
        return min(times, default=None)

    def step(self, now_ms: int) -> None:
        """Start what is due."""
        initial, resets, validations = [], [], []
        for partition, state in self._subscription.partitions.items():
            if state.fetch_state is FetchState.FETCHING or partition in self._under_way or state.is_pending_callback:
                continue
            if state.retry_at_ms > now_ms:
                continue
            if state.fetch_state is FetchState.INITIALIZING:
                initial.append(partition)
            elif state.fetch_state is FetchState.AWAIT_RESET:
                resets.append(partition)
            else:
                validations.append(partition)
        if initial:
            self._initialize(initial)
        if resets:
            self._reset(resets)
        if validations:
            self._validate(validations)

    # A first position

    def _initialize(self, partitions: list[TopicPartition]) -> None:
        if self.fetch_committed is None:
            self._reset_all(partitions)
        else:
            self._start(partitions, self._use_committed(self.fetch_committed, partitions))

    async def _use_committed(self, fetch_committed: FetchCommitted, partitions: list[TopicPartition]) -> None:
        asked_for = {partition: self._subscription.get(partition) for partition in partitions}
        committed = await fetch_committed(partitions)
        missing = []
        for partition, state in asked_for.items():
            if state is None or state.fetch_state is not FetchState.INITIALIZING:
                continue
            if self._subscription.get(partition) is not state:
                continue  # it went and came again, and its owner between may have committed: ask once more
            offset = committed.get(partition)
            if offset is None:
                missing.append(partition)
            else:
                self._subscription.seek(partition, offset.offset, offset.leader_epoch)
        self._reset_all(missing)

    def _reset_all(self, partitions: Collection[TopicPartition]) -> None:
        """No offset is known: the policy decides."""
        if partitions and self._subscription.default_reset.is_none:
            for partition in partitions:
                self._retry_later(partition)
            names = ", ".join(str(partition) for partition in partitions)
            raise_later = NoOffsetForPartitionError(f"Undefined offset with no reset policy for partitions: {names}")
            self._owner.on_error(raise_later)
            return
        for partition in partitions:
            self._subscription.request_reset(partition)
        if partitions:
            self._owner.on_positions_changed()

    # Looking offsets up

    def _reset(self, partitions: list[TopicPartition]) -> None:
        led, leaderless = by_leader(partitions, self._cluster.metadata)
        self._wait_for_leaders(leaderless)
        for node_id, of_node in led.items():
            self._start(of_node, self._look_up(node_id, of_node))

    async def _look_up(self, node_id: int, partitions: list[TopicPartition]) -> None:
        wall_ms = self._cluster.runtime.clock.now_ms()
        policies = {
            partition: policy
            for partition in partitions
            if (state := self._subscription.get(partition)) is not None and (policy := state.reset_policy) is not None
        }
        timestamps = {partition: policy.timestamp_ms(wall_ms) for partition, policy in policies.items()}
        result = await self.list_offsets(node_id, timestamps)
        late = [partition for partition, place in result.found.items() if place is None]
        if late:  # by duration, and no record is that young: the end
            answers = await self.list_offsets(node_id, dict.fromkeys(late, -1))
            result = result._replace(
                found=result.found | answers.found,
                retry=result.retry | answers.retry,
                fatal=result.fatal or answers.fatal,
            )
        for partition, place in result.found.items():
            if place is not None and partition in policies:
                self._subscription.complete_reset(partition, policies[partition], place.offset, place.leader_epoch)
        if result.retry:
            self._cluster.request_update()
        for partition in partitions:
            if partition not in result.found:
                self._retry_later(partition)
        if result.fatal is not None:
            self._owner.on_error(result.fatal)

    async def list_offsets(self, node_id: int, timestamps: Mapping[TopicPartition, int]) -> LookupResult:
        """Ask one leader once."""
        request = list_offsets_request(timestamps, self._cluster.metadata, self._isolation, self._request_timeout_ms)
        response = await self._cluster.send(node_id, request)
        assert isinstance(response, ListOffsetsResponse)
        return read_list_offsets(response)

    # Asking new leaders

    def _validate(self, partitions: list[TopicPartition]) -> None:
        led, leaderless = by_leader(partitions, self._cluster.metadata)
        self._wait_for_leaders(leaderless)
        for node_id, of_node in led.items():
            self._start(of_node, self._validate_with(node_id, of_node))

    async def _validate_with(self, node_id: int, partitions: list[TopicPartition]) -> None:
        positions = {
            partition: position
            for partition in partitions
            if (state := self._subscription.get(partition)) is not None and (position := state.position) is not None
        }
        try:
            response = await self._cluster.send(node_id, leader_epoch_request(positions))
        except UnsupportedVersionError:  # a broker that cannot tell: trust the position
            for partition, position in positions.items():
                self._subscription.complete_validation(partition, position)
            return
        assert isinstance(response, OffsetForLeaderEpochResponse)
        retry, errors = complete_validation(self._subscription, positions, response)
        if retry:
            self._cluster.request_update()
        for partition in partitions:
            state = self._subscription.get(partition)
            if state is not None and state.fetch_state is FetchState.AWAIT_VALIDATION:
                self._retry_later(partition)
        for error in errors:
            self._owner.on_error(error)

    # What all have in common

    def _start(self, partitions: list[TopicPartition], work: Awaitable[None]) -> None:
        self._under_way.update(partitions)
        self._cluster.runtime.spawn(self._run(partitions, work))

    async def _run(self, partitions: list[TopicPartition], work: Awaitable[None]) -> None:
        try:
            await work
        except KafkaError as error:
            for partition in partitions:
                self._retry_later(partition)
            if error.retriable:
                self._cluster.request_update()
            else:
                self._owner.on_error(error)
        except Exception as bug:  # of ours: the user would wait for a position without end
            logger.exception("Positions of %s could not be found", partitions)
            self._owner.on_bug(bug)
        finally:
            self._under_way.difference_update(partitions)
            self._owner.on_positions_changed()

    def _wait_for_leaders(self, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self._retry_later(partition)
        if partitions:
            self._cluster.request_update()

    def _retry_later(self, partition: TopicPartition) -> None:
        state = self._subscription.get(partition)
        if state is not None:
            state.retry_at_ms = self._cluster.runtime.clock.monotonic_ms() + self._retry_backoff_ms

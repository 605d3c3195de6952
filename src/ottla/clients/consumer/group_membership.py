"""The driver around a member: its requests in the background, its duties in the user's task."""

import asyncio
import logging
from collections.abc import Collection, Mapping
from typing import Final

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.commit_manager import CommitManager
from ottla.clients.consumer.coordinator_channel import CoordinatorChannel
from ottla.clients.consumer.coordinator_metrics import CoordinatorMetrics
from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.consumer.member_machine import Duty, DutyKind, MemberMachine
from ottla.clients.consumer.membership import CommitCallback, MembershipState, PartitionOwner, Subscription
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.consumer.parting_commit import PartingCommit
from ottla.clients.consumer.poll_watch import PollWatch
from ottla.clients.consumer.rebalance_listener import RebalanceListenerError
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.config.client_configs import ConsumerConfig
from ottla.protocol.message import Message
from ottla.protocol.messages.join_group import JoinGroupRequest

logger = logging.getLogger(__name__)

_JOIN_LAPSE_MS: Final = 5000
"""How much longer than the rebalance may take a JoinGroup waits for its answer."""
_LEAVE_TIMEOUT_MS: Final = 30_000
"""How long leaving may take if the user does not say, as with Apache's close."""
_GOODBYE_MS: Final = 1000
_PARTING_MS: Final = 100
"""How long to say goodbye at least, whatever the time that is left."""
_LOOK_MS: Final = 1000
"""How often to look at least whether the event loop runs."""


class GroupMembership:
    """See :class:`ottla.clients.consumer.membership.Membership`. Subclasses say which machine, and how it leads."""

    uses_epochs = False
    """Whether offsets are fetched as a member of an epoch."""

    def __init__(
        self,
        client: ClusterClient,
        config: ConsumerConfig,
        owner: PartitionOwner,
        machine: MemberMachine,
        watch: PollWatch,
    ) -> None:
        assert config.group_id is not None, "a membership needs a group"
        self._client = client
        self._config = config
        self._owner = owner
        self._machine = machine
        self._watch = watch
        self._clock = client.runtime.clock
        self._channel = CoordinatorChannel(client, config.group_id)
        self.metrics = CoordinatorMetrics(self._clock.monotonic_ms())
        self._commits = CommitManager(
            client,
            config,
            machine,
            self._channel,
            self.metrics,
            settled=self._wait_for_change,
            on_finished=self._changed,
            on_committed=owner.on_committed,
        )
        self._parting = PartingCommit(self._commits, self._clock, config.default_api_timeout_ms)
        self._task: asyncio.Task[None] | None = None
        self._telling: asyncio.Event | None = None
        """Set when the listener that runs now has returned."""
        self._requests: set[asyncio.Task[None]] = set()
        self._woken = asyncio.Event()
        self._change = asyncio.Event()
        self._needs_user = False
        self._wanted: Collection[str] | None = ()
        self._is_closed = False
        self._is_leaving = False
        self._crash: BaseException | None = None
        """A bug of ours in the background, for the user to see."""
        client.on_update(self._on_metadata)

    @property
    def state(self) -> MembershipState:
        """Where the member stands."""
        return MembershipState.LEAVING if self._is_leaving else self._machine.state

    @property
    def reason(self) -> str:
        """One sentence for people, with what keeps us from the coordinator."""
        reason = self._machine.reason
        failure = self._channel.last_failure
        return f"{reason} ({failure})" if failure and self.state is not MembershipState.STABLE else reason

    @property
    def error(self) -> KafkaError | None:
        """Why it can never be in this group."""
        return self._machine.error

    @property
    def group_metadata(self) -> ConsumerGroupMetadata:
        """Group, member and generation."""
        return self._machine.group_metadata

    @property
    def is_telling(self) -> bool:
        """Whether a listener runs."""
        return self._telling is not None

    async def start(self, subscription: Subscription | None, now_ms: int) -> None:
        """Begin to join, in the background; None: only commits are wanted."""
        if subscription is not None:
            self._machine.start(subscription, now_ms)
            self._machine.update_metadata(self._client.metadata)
            self._follow_topics()
        if self._task is None and subscription is not None:
            self._task = asyncio.get_running_loop().create_task(self._run())
            self._task.add_done_callback(self._ended)
        self._changed()

    def update_subscription(self, subscription: Subscription) -> None:
        """The user subscribed anew."""
        self._machine.start(subscription, self._clock.monotonic_ms())
        self._follow_topics()
        self._changed()

    def request_rejoin(self, reason: str) -> None:
        """Ask for a rebalance."""
        self._machine.request_rejoin(reason)
        self._changed()

    def poll(self, now_ms: int) -> bool:
        """The user is alive. True when ``process`` has something to do."""
        self._machine.poll(now_ms)
        self._commits.maybe_auto_commit(now_ms, self._owner.consumed_offsets)
        return self._needs_user

    async def process(self, timeout_ms: int | None = None) -> None:
        """Perform duties, run callbacks, raise what the user must hear."""
        if self._crash is not None:
            raise self._crash
        deadline_ms = None if timeout_ms is None else self._clock.monotonic_ms() + timeout_ms
        failure: RebalanceListenerError | None = None
        while (duty := self._machine.duty()) is not None:
            if duty.kind is not DutyKind.REVOKE:
                await self._parting.forget()  # what was to be revoked is lost
            elif not await self._commit_before(duty.partitions, deadline_ms):
                break
            try:
                await self._perform(duty)
            except RebalanceListenerError as error:
                failure = failure or error
        self._changed()
        await self._commits.run_callbacks()
        told = self._machine.error or self._machine.take_error()
        self._changed()
        if told is not None:
            raise told.with_traceback(None)  # the same object every time must not collect where it was raised before
        if failure is not None:
            raise failure

    async def _perform(self, duty: Duty) -> None:
        """Once the owner hears of it a duty counts as done, even if the user's task is cancelled in its listener."""
        metrics = self.metrics
        tell, timing = {
            DutyKind.ASSIGN: (self._owner.on_assigned, metrics.assigned),
            DutyKind.REVOKE: (self._owner.on_revoked, metrics.revoked),
            DutyKind.LOSE: (self._owner.on_lost, metrics.lost),
        }[duty.kind]
        if duty.kind is not DutyKind.ASSIGN:
            self._owner.stop_delivery(duty.partitions)
        began_ms = self._clock.monotonic_ms()
        self._telling = told = asyncio.Event()
        try:
            await tell(duty.partitions)
        finally:
            self._telling = None
            told.set()
            timing.took(self._clock.monotonic_ms() - began_ms)
            self._machine.done(duty)
            self._follow_topics()
            self._changed()

    async def _commit_before(self, partitions: frozenset[TopicPartition], deadline_ms: int | None) -> bool:
        """Commit before these are revoked. False: the time is up, and a later call goes on."""
        self._owner.stop_delivery(partitions)
        is_done = False
        try:
            is_done = await self._parting.finish(self._owner.consumed_offsets, deadline_ms)
        finally:
            if not is_done:
                self._machine.postpone()
        return is_done

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None, *, timeout_ms: int | None = None
    ) -> None:
        """Commit and wait."""
        self._raise_if_fatal()
        await self._commits.commit(self._owner.consumed_offsets() if offsets is None else offsets, timeout_ms)
        await self._commits.run_callbacks()  # those of earlier asynchronous commits, as Apache's client promises
        self._changed()

    def commit_async(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None, callback: CommitCallback | None = None
    ) -> None:
        """Commit in the background, in order and without retries."""
        self._raise_if_fatal()
        self._commits.commit_async(self._owner.consumed_offsets() if offsets is None else offsets, callback)

    async def fetch_committed(
        self, partitions: Collection[TopicPartition], *, timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The committed offsets, None where there is none."""
        self._raise_if_fatal()
        return await self._commits.fetch_committed(partitions, timeout_ms, with_epoch=self.uses_epochs)

    async def leave(self, *, timeout_ms: int | None = None) -> None:
        """Commit if auto commit is on, give up all partitions and leave the group, after a listener that runs now."""
        while self._telling is not None:
            await self._telling.wait()
        await self._leave(timeout_ms, "the consumer unsubscribed from all topics")

    async def close(self, *, timeout_ms: int | None = None) -> None:
        """Leave, wait for asynchronous commits, and end the background work."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            await self._leave(timeout_ms, "the consumer is being closed")
        finally:
            await self._parting.forget()
            await self._cancel([*self._requests, *([self._task] if self._task is not None else [])])

    async def _leave(self, timeout_ms: int | None, reason: str) -> None:
        self._is_leaving = True
        try:
            await self._leave_in(_LEAVE_TIMEOUT_MS if timeout_ms is None else timeout_ms, reason)
        finally:
            self._is_leaving = False

    async def _leave_in(self, timeout_ms: int, reason: str) -> None:
        failure: RebalanceListenerError | None = None
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        duty = self._machine.leaving_duty()
        if duty is None or duty.kind is DutyKind.REVOKE:
            await self._commit_before(frozenset() if duty is None else duty.partitions, deadline_ms)
        if duty is not None:
            try:
                await self._perform(duty)
            except RebalanceListenerError as error:
                failure = error
        await self._commits.flush(max(deadline_ms - self._clock.monotonic_ms(), 0))
        goodbye = self._machine.leave(reason)
        self._wanted = ()  # who assigns by hand meanwhile has the metadata follow other topics
        await self._parting.forget()
        if self._requests:
            await self._cancel(self._requests)
            self._channel.reconnect()
        if goodbye is not None:
            await self._say_goodbye(goodbye, max(deadline_ms - self._clock.monotonic_ms(), _PARTING_MS))
        self._changed()
        await self._commits.run_callbacks()
        if failure is not None:
            raise failure

    @staticmethod
    async def _cancel(tasks: "Collection[asyncio.Task[None]]") -> None:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _say_goodbye(self, goodbye: Message, timeout_ms: int) -> None:
        """Tell the coordinator, briefly if it could not be reached just now: it will find out by itself."""
        reachable_ms = self._client.config.request_timeout_ms if self._channel.is_reachable else _GOODBYE_MS
        try:
            await self._channel.ask(goodbye, timeout_ms=min(timeout_ms, reachable_ms))
        except KafkaError as error:
            logger.info("Left the group %s without telling its coordinator: %s", self._channel.group_id, error)

    def _raise_if_fatal(self) -> None:
        if self._machine.error is not None:
            raise self._machine.error.with_traceback(None)

    # In the background

    async def _run(self) -> None:
        while True:
            now_ms = self._clock.monotonic_ms()
            if self._machine.is_session_over(now_ms):
                self._channel.lost("no heartbeat was answered for session.timeout.ms")
            while (request := self._machine.next_request(now_ms)) is not None:
                self._spawn(self._exchange(request))
            self._check_user()
            wait_ms = min(max(self._machine.deadline_ms(now_ms) - now_ms, 0), _LOOK_MS)
            await self._sleep(now_ms + wait_ms, wait_ms)

    async def _sleep(self, due_ms: int, wait_ms: int) -> None:
        self._woken.clear()
        timer = asyncio.get_running_loop().call_later(wait_ms / 1000, self._woken.set)
        try:
            await self._woken.wait()
        finally:
            timer.cancel()
        self._watch.woke_up(due_ms, self._clock.monotonic_ms())

    def _spawn(self, coroutine: "asyncio._CoroutineLike[None]") -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._requests.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._requests.discard(task)
        if not task.cancelled() and (crash := task.exception()) is not None:
            self._crash = crash
            self._check_user()

    async def _exchange(self, request: Message) -> None:
        """Send one request of the member, and tell it the answer."""
        request_timeout_ms = self._client.config.request_timeout_ms
        timeout_ms = request_timeout_ms
        if isinstance(request, JoinGroupRequest):
            timeout_ms = max(timeout_ms, request.rebalance_timeout_ms + _JOIN_LAPSE_MS)
        sent_ms = self._clock.monotonic_ms()
        self.metrics.sent(request, sent_ms)
        try:
            response = await self._channel.ask(request, timeout_ms=timeout_ms, find_timeout_ms=request_timeout_ms)
        except KafkaError as error:
            self.metrics.failed(request)
            self._machine.handle_failure(request, error, self._clock.monotonic_ms())
        else:
            now_ms = self._clock.monotonic_ms()
            self.metrics.answered(request, response, sent_ms, now_ms)
            if not self._machine.handle_response(request, response, now_ms):
                self._channel.lost("the broker is not the coordinator any more")
        self._follow_topics()
        self._changed()

    def _on_metadata(self, metadata: ClusterMetadata) -> None:
        if self._is_closed:
            return
        self._machine.update_metadata(metadata)
        self._follow_topics()
        self._changed()

    def _follow_topics(self) -> None:
        """The metadata must know what the member wants, and what it has for as long as it has that."""
        wanted = self._machine.wanted_topics
        if wanted is not None:
            wanted = {*wanted, *(partition.topic for partition in self._machine.owned)}
        if self.state is not MembershipState.UNJOINED and wanted != self._wanted:
            self._wanted = wanted
            self._client.want_topics(wanted)

    def _changed(self) -> None:
        """Something happened: look at the machine again."""
        self._check_user()
        if self._machine.needs_metadata:
            self._client.request_update()
        self._woken.set()
        change, self._change = self._change, asyncio.Event()
        change.set()

    def _check_user(self) -> None:
        self._needs_user = self._machine.needs_user() or self._commits.has_finished or self._crash is not None
        if self._needs_user:
            self._owner.wake_up()

    async def _wait_for_change(self, timeout_ms: int) -> None:
        change = self._change
        try:
            async with asyncio.timeout(max(timeout_ms, 0) / 1000):
                await change.wait()
        except TimeoutError:
            return

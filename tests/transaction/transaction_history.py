"""Random histories of transactional producers: zombies, lost answers, timeouts, expiry, crashes, appends that fail.

What must hold whatever happens:
- Once a producer has initialized, none that had the transactional id before succeeds with anything.
- What a producer is told to be committed is what it added, and nothing else.
- Markers are sent for outcomes that are committed to the log, and that outcome never changes.
- The log holds legal transitions only; epochs grow by one and never overflow; producer ids are not used again.
- A producer that nobody replaced is never refused for good: no legal history is.
- The state that is replayed from the log is the state that was there before.
- Once markers can be written, every prepared transaction completes.
"""

from collections.abc import Callable, Iterable

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.config.sections import TransactionConfig
from ottla.transaction.markers import TransactionMarkers
from ottla.transaction.metadata import NO_PARTITIONS, PRODUCER_EPOCH_MAX, TransactionMetadata
from ottla.transaction.state import VALID_PREVIOUS_STATES, TransactionState
from ottla.transaction.transaction_version import TransactionVersion
from tests.transaction.transaction_client import RETRIABLE, Client, Request
from tests.transaction.transaction_world import TIMEOUT_MS, A, TransactionWorld

S = TransactionState
IDS = ("x", "y")
CLIENTS_MAX = 5
DISASTERS = ("markers", "appends", "producer ids", "crash", "crash", "move", "time out", "expire")
PREPARED = {True: S.PREPARE_COMMIT, False: S.PREPARE_ABORT}
CONFIG = TransactionConfig()
LOOK_MS = CONFIG.transaction_abort_timed_out_transaction_cleanup_interval_ms
EXPIRED_MS = CONFIG.transactional_id_expiration_ms + CONFIG.transaction_remove_expired_transaction_cleanup_interval_ms


class TransactionHistory:
    """See the module."""

    def __init__(self, version: int, epoch: int, say: Callable[[str], None]) -> None:
        """Begin with a transactional id that has used a producer id up to an epoch; -1: with nothing."""
        self.version = version
        self.say = say
        self.world = world = TransactionWorld(autocommit=False, version=version)
        self.clients: list[Client] = []
        self.latest: dict[str, Client] = {}
        """Who has initialized last."""
        self.live: dict[str, Client] = {}
        """Who has initialized last, while nothing has happened that may rightly shut it out."""
        world.markers.on_send = self._markers_are_of_a_committed_outcome
        if epoch >= 0:
            used = TransactionMetadata.new("x", 5, TIMEOUT_MS, world.time_ms)._replace(producer_epoch=epoch)
            world.write_state(used, TransactionVersion(version))
        world.load()

    # -- clients ------------------------------------------------------------------------------------------------------

    def start(self, transactional_id: str, is_v2: bool) -> None:
        """A producer comes, if there is room for one."""
        if len(self.clients) == CLIENTS_MAX:
            return
        client = Client(self.world, transactional_id, is_v2 and self.version == 2)
        self.clients.append(client)
        self._ask(client, Request("init"))

    def add(self, index: int, partition: TopicPartition) -> None:
        self._act(index, "add", Request("add", partition))

    def end(self, index: int, committed: bool) -> None:
        self._act(index, "commit" if committed else "abort", Request("end", committed=committed))

    def initialize_again(self, index: int, kind: str) -> None:
        self._act(index, kind, Request(kind))

    def transact(self, index: int, partitions: Iterable[TopicPartition], committed: bool) -> None:
        """A whole transaction, if all goes well."""
        for partition in partitions:
            self.add(index, partition)
            self.settle(1)
        self.end(index, committed)

    def lose(self, index: int) -> None:
        """An answer gets lost, or the client's patience ends."""
        if self.clients and (client := self.clients[index % len(self.clients)]).in_flight is not None:
            client.lose()

    def _act(self, index: int, kind: str, request: Request) -> None:
        """A client does what it may; one that waits does nothing, and one with something to repeat does that."""
        client = self.clients[index % len(self.clients)] if self.clients else None
        if client is None or client.in_flight is not None:
            return
        if client.retry is not None and not (client.retry.kind == "init" and kind == "init"):
            self._ask(client, client.retry)
        elif client.is_legal[kind]:
            self._ask(client, request)

    def _ask(self, client: Client, request: Request) -> None:
        name = client.transactional_id
        if request.kind in ("init", "bump"):
            for other in self.clients:
                if other.transactional_id == name and other is not client:
                    self._may_be_shut_out(other)
            client.may_be_shut_out = False
        self.say(f"{self.clients.index(client)} {name} {client.identity} asks {request}")
        client.ask(request).add_done_callback(
            lambda done: self._answered(client) if client.completion is done else None  # else it is lost
        )

    def _may_be_shut_out(self, client: Client) -> None:
        """Something has happened that may rightly shut a client out, from now on or from its pending init on."""
        client.may_be_shut_out = True
        if self.live.get(client.transactional_id) is client:
            del self.live[client.transactional_id]

    def _answered(self, client: Client) -> None:
        name, identity, acked, tried = client.transactional_id, client.identity, set(client.acked), set(client.tried)
        request, code = client.take_answer()
        self.say(f"{self.clients.index(client)} {name} {identity} {request} -> {code.name} {client.identity}")
        if self.live.get(name) is client:
            assert code is ErrorCode.NONE or code in RETRIABLE, "a legal history was refused"
        if code is not ErrorCode.NONE:
            return
        if request.kind in ("init", "bump"):
            self.latest[name] = client
            if not client.may_be_shut_out:
                self.live[name] = client
            return
        assert self.latest[name] is client, "a fenced producer succeeded"
        if request.kind == "end":
            ends = [one for one in self._log_of(name) if one is not None and one.state.is_prepared]
            assert ends[-1].state is PREPARED[request.committed]
            if request.committed:
                assert acked <= set(ends[-1].topic_partitions) <= tried, "what was committed is not what was added"

    # -- the world ----------------------------------------------------------------------------------------------------

    def commit(self, by: int) -> None:
        self.world.log.commit(self.world.log.high_watermark + by)

    def write_markers(self, index: int) -> None:
        if index < len(self.world.markers.pending):
            self.world.markers.write(index)

    def all_goes_well(self) -> None:
        self.world.log.refusal = self.world.no_producer_ids = None
        self.settle(1)

    def suffer(self, disaster: str, keep: int) -> None:
        """One of ``DISASTERS``; a crash keeps some of what is not committed."""
        world = self.world
        if disaster == "appends":
            world.log.refusal = ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)
        elif disaster == "producer ids":
            world.no_producer_ids = ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        elif disaster == "markers":
            if world.markers.pending:
                world.markers.write(0, ApiError(ErrorCode.TRANSACTION_COORDINATOR_FENCED))
        elif disaster == "crash":
            self.crash(keep)
        elif disaster == "move":
            self.move()
        else:
            for client in self.clients:
                self._may_be_shut_out(client)
            world.advance(EXPIRED_MS if disaster == "expire" else TIMEOUT_MS + LOOK_MS)

    def crash(self, keep: int) -> None:
        """The coordinator moves; of what is not committed, only a part may be found again."""
        for client in self.clients:
            pending = client.in_flight or client.retry
            if pending is not None and pending.kind == "bump":
                self._may_be_shut_out(client)  # the epoch before is not in the log, as in Apache Kafka
        self.world.crash(keep)

    def move(self) -> None:
        """The coordinator moves and finds everything: its state is the same."""
        before = {one.transactional_id: self._durable(one) for one in self.world.shard}
        self.crash(len(self.world.log.batches))
        assert {one.transactional_id: self._durable(one) for one in self.world.shard} == before

    def _durable(self, metadata: TransactionMetadata) -> TransactionMetadata:
        metadata = metadata._replace(last_producer_epoch=-1)
        if self.version == 0:
            metadata = metadata._replace(prev_producer_id=-1)
        return metadata

    def _markers_are_of_a_committed_outcome(self, markers: TransactionMarkers) -> None:
        committed = dict(self.world.records(self.world.log.high_watermark))
        prepared = committed[markers.transactional_id]
        assert prepared is not None
        assert prepared.state is PREPARED[markers.committed], "markers of an outcome that is not committed"
        assert prepared.producer == (markers.producer_id, markers.producer_epoch)
        assert set(prepared.topic_partitions) == set(markers.partitions)

    # -- what must hold -----------------------------------------------------------------------------------------------

    def _log_of(self, transactional_id: str) -> list[TransactionMetadata | None]:
        return [metadata for name, metadata in self.world.records() if name == transactional_id]

    def every_client_has_its_answer(self) -> None:
        if self.world.log.high_watermark >= self.world.log.end_offset:
            assert all(client.in_flight is None for client in self.clients)

    def check_log(self) -> None:
        used: set[int] = set()
        for transactional_id in IDS:
            before: TransactionMetadata | None = None
            for after in self._log_of(transactional_id):
                if after is not None:
                    check_step(before, after)
                    if before is None or after.producer_id != before.producer_id:
                        assert after.producer_id not in used
                        used.add(after.producer_id)
                else:
                    assert before is not None
                    assert before.state in VALID_PREVIOUS_STATES[S.DEAD]
                before = after

    def settle(self, wait_ms: int) -> None:
        """Let everything happen that happens by itself."""
        for _ in range(4):
            self.world.commit()
            while self.world.markers.pending:
                self.world.markers.write()
                self.world.commit()
            self.world.advance(wait_ms)

    def finish(self) -> None:
        self.world.log.refusal = self.world.no_producer_ids = None
        self.live.clear()
        self.settle(LOOK_MS)
        assert not [one for one in self.world.shard if one.state.is_prepared], "a prepared transaction hangs"
        for name in IDS:
            client = Client(self.world, name, self.version == 2)
            self.clients.append(client)
            for request in (Request("init"), Request("add", A), Request("end", committed=True)):
                self._ask(client, request)
                for _ in range(3):
                    self.settle(1)
                    if client.retry is not None:
                        self._ask(client, client.retry)
                assert client.retry is None
                assert client.in_flight is None
                self.live[name] = client
        self.settle(1)
        assert {one.state for one in self.world.shard if one.transactional_id in IDS} == {S.COMPLETE_COMMIT}
        self.check_log()


def check_step(before: TransactionMetadata | None, after: TransactionMetadata) -> None:
    """One transition in the log."""
    assert 0 <= after.producer_epoch <= PRODUCER_EPOCH_MAX
    if before is None:
        assert after.state is S.EMPTY
        return
    assert before.state in VALID_PREVIOUS_STATES[after.state]
    if after.producer_id == before.producer_id:
        assert before.producer_epoch <= after.producer_epoch <= before.producer_epoch + 1
    else:
        assert before.producer_epoch >= PRODUCER_EPOCH_MAX - 1
        assert after.producer_epoch == 0
        assert after.state is S.EMPTY or after.producer_id == before.next_producer_id
    if after.state.is_prepared:
        assert after.topic_partitions == before.topic_partitions
    if after.state.is_complete:
        assert after.topic_partitions == NO_PARTITIONS
    if after.state is S.ONGOING:
        assert set(before.topic_partitions) < set(after.topic_partitions)
        assert after.producer == before.producer

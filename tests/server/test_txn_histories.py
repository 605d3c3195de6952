"""Random transactions of two transactional ids: zombies, timeouts, and a broker that is killed between or in requests.

Whatever happens, a reader of committed records sees exactly what was committed, in all partitions alike.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from tests.server.txn_world import PARTITIONS, TxnWorld
from tests.sim.crash_files import PowerLoss

IDS: Final = ("red", "blue")
TIMEOUT_MS: Final = 60_000
FENCED: Final = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING)


@dataclass
class Transaction:
    """What a producer wrote between two ends; ``is_committed`` None while nobody can know."""

    is_committed: bool | None = None
    is_open: bool = True


@dataclass
class Producer:
    """A producer as it sees itself."""

    identity: tuple[int, int]
    transaction: Transaction | None = None
    sequences: dict[TopicPartition, int] = field(default_factory=dict)


@dataclass
class Written:
    """A value, or an offset, in the order of the log."""

    value: str
    transaction: Transaction


class History:
    """The world, and what it ought to hold."""

    def __init__(self, version: int) -> None:
        self.world = TxnWorld(version)
        self.producers: dict[str, Producer] = {}
        self.zombies: dict[str, Producer] = {}
        self.logs: dict[TopicPartition, list[Written]] = {one: [] for one in PARTITIONS}
        self.offsets: list[Written] = []
        self._number = 0

    # -- requests -----------------------------------------------------------------------------------------------------

    def init(self, name: str) -> None:
        """A producer starts; what its predecessor left open is aborted."""
        before = self.producers.pop(name, None)
        if before is not None:
            self.zombies[name] = before
            if before.transaction is not None and before.transaction.is_open:
                before.transaction.is_open = False
                if before.transaction.is_committed is None:
                    before.transaction.is_committed = False
        for _ in range(3):
            response = self.world.init(name)
            if response.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
                break
        assert response.error_code == 0, ErrorCode(response.error_code).name
        self.producers[name] = Producer((response.producer_id, response.producer_epoch))

    def write(self, name: str, index: int) -> None:
        """One record."""
        producer, topic_partition = self._producer(name), PARTITIONS[index]
        transaction = producer.transaction or Transaction()
        if self.world.version < 2:
            self.world.add(name, producer.identity, topic_partition)
            producer.transaction = transaction
        self._number += 1
        value, sequence = f"{name}-{self._number}", producer.sequences.get(topic_partition, 0)
        written = Written(value, transaction)
        self.logs[topic_partition].append(written)  # it may be there even if we die before the answer
        producer.transaction = transaction
        code = self.world.produce(name, producer.identity, topic_partition, value, sequence=sequence)
        assert code == 0, ErrorCode(code).name
        producer.sequences[topic_partition] = sequence + 1

    def commit_offset(self, name: str) -> None:
        """One offset."""
        producer = self._producer(name)
        transaction = producer.transaction = producer.transaction or Transaction()
        if self.world.version < 2:
            assert self.world.add_offsets(name, producer.identity) == 0
        self._number += 1
        self.offsets.append(Written(str(self._number), transaction))
        code = self.world.commit_offset(name, producer.identity, self._number)
        assert code == 0, ErrorCode(code).name

    def end(self, name: str, committed: bool) -> None:
        """Commit or abort what is open; nothing is, otherwise."""
        producer = self._producer(name)
        transaction = producer.transaction
        if transaction is None:
            return
        transaction.is_open = False
        if not committed:
            transaction.is_committed = False
        response = self.world.end(name, producer.identity, committed=committed)
        assert response.error_code == 0, ErrorCode(response.error_code).name
        transaction.is_committed = committed
        producer.transaction = None
        if self.world.version >= 2:
            producer.identity = (response.producer_id, response.producer_epoch)
            producer.sequences.clear()

    def zombie(self, name: str, committed: bool) -> None:
        """A producer that was replaced goes on, in vain."""
        zombie = self.zombies.get(name)
        if zombie is None:
            return
        code = self.world.produce(
            name, zombie.identity, PARTITIONS[0], "zombie", sequence=zombie.sequences.get(PARTITIONS[0], 0)
        )
        assert code in FENCED, ErrorCode(code).name
        code = self.world.end(name, zombie.identity, committed=committed).error_code
        if name not in self.producers and self.world.version >= 2:
            # Its transaction was aborted for it, which looks like its own abort whose answer was lost.
            assert code == (ErrorCode.INVALID_TXN_STATE if committed else ErrorCode.NONE), ErrorCode(code).name
        else:
            assert code in FENCED, ErrorCode(code).name

    def time_out(self) -> None:
        """So long a silence that open transactions are aborted, and their producers fenced."""
        for name, producer in list(self.producers.items()):
            if producer.transaction is not None:
                producer.transaction.is_open = False
                producer.transaction.is_committed = False
                self.zombies[name] = self.producers.pop(name)
        for _ in range(8):
            self.world.machine.clock.advance_ms(TIMEOUT_MS // 5)
            self.world.pass_ms(20)
        assert self.world.open_transactions() == {}

    def kill(self) -> None:
        """Between two requests."""
        self.world = self.world.die()

    def kill_in(self, writes: int, request: Callable[[], None]) -> None:
        """In a request, which a client never knows the outcome of: another one takes its place."""
        self.world.machine.files.power_off_after(writes)
        try:
            request()
        except PowerLoss:
            self.world = self.world.die()
            self.world.pass_ms(50)
        else:
            self.world.machine.files.power_off_after(1 << 60)

    def _producer(self, name: str) -> Producer:
        if name not in self.producers:
            self.init(name)
        return self.producers[name]

    # -- what is to be seen -------------------------------------------------------------------------------------------

    def check(self) -> None:
        """All transactions end: what is committed is seen, and nothing else."""
        for name in IDS:
            self.init(name)
        self.world.pass_ms(50)
        assert self.world.open_transactions() == {}
        for one in PARTITIONS:
            log = self.world.broker.log(one)
            assert log.last_stable_offset == log.high_watermark == log.log_end_offset
            self._learn(one)
        for one in PARTITIONS:
            expected = [written.value for written in self.logs[one] if written.transaction.is_committed]
            assert self.world.committed(one) == expected
        committed = [int(written.value) for written in self.offsets if written.transaction.is_committed]
        unknown = [int(written.value) for written in self.offsets if written.transaction.is_committed is None]
        offset, code = self.world.offset()
        assert code == 0
        assert offset in unknown or offset == (committed[-1] if committed else -1)
        self.world.runtime.drop()

    def _learn(self, topic_partition: TopicPartition) -> None:
        """Of a commit that nobody heard the answer of, any partition tells; all others must say the same."""
        seen = set(self.world.committed(topic_partition))
        for written in self.logs[topic_partition]:
            if written.transaction.is_committed is None:
                written.transaction.is_committed = written.value in seen


NAMES = st.sampled_from(IDS)
REQUESTS = st.one_of(
    st.tuples(st.just("init"), NAMES),
    st.tuples(st.just("write"), NAMES, st.integers(0, 2)),
    st.tuples(st.just("write"), NAMES, st.integers(0, 2)),
    st.tuples(st.just("commit_offset"), NAMES),
    st.tuples(st.just("end"), NAMES, st.booleans()),
    st.tuples(st.just("end"), NAMES, st.just(True)),
)
STEPS = st.one_of(
    REQUESTS,
    REQUESTS,
    st.tuples(st.just("zombie"), NAMES, st.booleans()),
    st.tuples(st.just("time_out")),
    st.tuples(st.just("kill")),
    st.tuples(st.just("kill_in"), st.integers(0, 6), REQUESTS),
)


@example(version=0, steps=[("init", "red"), ("init", "red"), ("zombie", "red", True)])
@example(version=2, steps=[("init", "red"), ("init", "red"), ("zombie", "red", True)])
@example(version=2, steps=[("write", "red", 0), ("time_out",), ("zombie", "red", False), ("write", "red", 0)])
@settings(max_examples=60)
@given(version=st.sampled_from([0, 1, 2, 2]), steps=st.lists(STEPS, max_size=25))
def test_only_what_was_committed_is_seen(version: int, steps: list[tuple[Any, ...]]) -> None:
    history = History(version)
    for name, *arguments in steps:
        if name == "kill_in":
            writes, (request, *its_arguments) = arguments
            before = history.world
            history.kill_in(writes, partial(getattr(history, request), *its_arguments))
            if history.world is not before:
                history.init(its_arguments[0])
        else:
            getattr(history, name)(*arguments)
    history.check()

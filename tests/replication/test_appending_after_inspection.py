"""A produce whose records a worker process reads, and what may have happened meanwhile."""

from collections.abc import Callable

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.metadata.image.configs import ConfigResourceType
from ottla.metadata.records import ConfigRecord
from ottla.records.batch import Buffer
from ottla.records.compression import Compression
from ottla.records.inline_reading import INLINE_RECORDS_MAX
from ottla.replication.append_result import AppendResult
from ottla.runtime.inline import run
from tests.log.log_machine import batch
from tests.records.hostile_batches import NULL_KEY, counted, repeated
from tests.replication.replica_machine import T0, TOPIC, Answer, Broker

COUNT = INLINE_RECORDS_MAX + 1
T1 = TopicPartition(TOPIC, 1)
Meanwhile = Callable[[], object]


class SlowBroker(Broker):
    """Something happens while the worker is at work."""

    def __init__(self) -> None:
        super().__init__()
        self.computed = 0
        self.meanwhile: Meanwhile = lambda: None
        call = self.machine.runtime.compute

        async def compute(function: Callable[..., object], /, *args: object) -> object:
            self.computed += 1
            meanwhile, self.meanwhile = self.meanwhile, lambda: None
            meanwhile()
            return await call(function, *args)

        self.machine.runtime.compute = compute  # type: ignore[method-assign, assignment]

    def configure(self, **configs: str) -> None:
        self.replay(
            *(
                ConfigRecord(resource_type=ConfigResourceType.TOPIC, resource_name=TOPIC, name=name, value=value)
                for name, value in configs.items()
            )
        )
        run(self.log_manager.update_topic_config(TOPIC))

    def append_both(self, first: Buffer, second: Buffer) -> list[AppendResult] | None:
        answer = Answer()
        self.replicas.append_records([(T0, None, first), (T1, None, second)], -1, 1000, answer)
        return answer.results


@pytest.fixture
def broker() -> SlowBroker:
    found = SlowBroker()
    found.create(partitions=2, configs={"cleanup.policy": "compact"})
    return found


def keyed(count: int = COUNT) -> bytearray:
    return counted(count)


def test_it_goes_on_with_the_next_entry(broker: SlowBroker) -> None:
    results = broker.append_both(keyed(), keyed(1))
    assert results is not None
    assert [(result.error_code, result.base_offset) for result in results] == [(0, 0), (0, 0)]
    assert broker.computed == 1
    assert (broker.log(T0).log_end_offset, broker.log(T1).log_end_offset) == (COUNT, 1)


def test_every_entry_may_have_to_wait(broker: SlowBroker) -> None:
    results = broker.append_both(keyed(), keyed())
    assert results is not None
    assert [result.last_offset for result in results] == [COUNT - 1] * 2
    assert broker.computed == 2


def test_small_entries_share_turns_and_need_no_worker(broker: SlowBroker) -> None:
    results = broker.append_both(keyed(COUNT - 1), keyed(2))
    assert results is not None
    assert [result.last_offset for result in results] == [COUNT - 2, 1]
    assert broker.computed == 0


def test_what_breaks_a_rule_is_refused_and_the_others_are_not(broker: SlowBroker) -> None:
    results = broker.append_both(repeated(NULL_KEY, 2 * COUNT), keyed(3))
    assert results is not None
    assert [result.error_code for result in results] == [ErrorCode.INVALID_RECORD, 0]
    assert broker.log(T1).log_end_offset == 3


def test_it_is_refused_when_no_worker_can_be_had(broker: SlowBroker) -> None:
    def fail() -> None:
        raise ChildProcessError("a worker process died")

    broker.meanwhile = fail
    results = broker.append_both(keyed(), keyed(3))
    assert results is not None
    assert [result.error_code for result in results] == [ErrorCode.NOT_ENOUGH_REPLICAS, 0]


def test_records_that_came_first_are_in_front(broker: SlowBroker) -> None:
    broker.meanwhile = lambda: broker.append(T0, records=keyed(5))
    result = broker.append(T0, records=keyed())
    assert (result.base_offset, result.last_offset) == (5, 5 + COUNT - 1)


def test_a_partition_that_is_gone(broker: SlowBroker) -> None:
    topic = broker.image.topics.by_name[TOPIC]
    broker.meanwhile = lambda: broker.delete(topic.id)
    result = broker.append(T0, records=keyed())
    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_leader_that_is_none_any_more(broker: SlowBroker) -> None:
    topic_id = broker.create("replicated", replicas=(1, 2), configs={"cleanup.policy": "compact"})
    broker.meanwhile = lambda: broker.change(topic_id, leader=2)
    result = broker.append(TopicPartition("replicated", 0), records=keyed())
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_other_rules_have_the_records_read_again(broker: SlowBroker) -> None:
    broker.meanwhile = lambda: broker.configure(**{"compression.type": "gzip"})
    assert broker.append(T0, records=keyed()).error_code == 0
    assert broker.computed == 2
    (stored,) = broker.log(T0).segments.active.read_batches(0)
    assert stored.compression == Compression.GZIP


def test_nothing_is_appended_to_logs_that_are_about_to_be_closed(broker: SlowBroker) -> None:
    broker.meanwhile = broker.replicas.stop
    assert broker.append_both(keyed(), batch()) is None, "its connection is closed"
    assert (broker.log(T0).log_end_offset, broker.log(T1).log_end_offset) == (0, 0)

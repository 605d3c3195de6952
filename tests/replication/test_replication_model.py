"""Random histories of a leader and its followers, against a model of what is committed."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.common.error_code import ErrorCode
from tests.log.log_machine import offsets_in
from tests.replication.replica_machine import NODE, Answer, Broker

FOLLOWERS = (2, 3)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("produce"), st.integers(1, 4), st.sampled_from([1, -1])),
        st.tuples(st.just("fetch"), st.sampled_from(FOLLOWERS), st.integers(0, 2)),
        st.tuples(st.just("isr"), st.sets(st.sampled_from(FOLLOWERS)), st.just(0)),
        st.tuples(st.just("elect"), st.just(0), st.just(0)),
    ),
    max_size=20,
)


@given(steps=steps, min_isr=st.integers(1, 3))
def test_acks_all_is_given_exactly_for_what_every_replica_in_sync_has(
    steps: list[tuple[str, object, int]], min_isr: int
) -> None:
    broker = Broker()
    broker.register(*FOLLOWERS, fenced=True)  # fenced: none may join, so only the ISR counts
    topic_id = broker.create(replicas=(NODE, *FOLLOWERS), configs={"min.insync.replicas": str(min_isr)})
    isr: set[int] = set(FOLLOWERS)
    ends = dict.fromkeys(FOLLOWERS, -1)
    batch_ends = [0]
    committed = 0
    waiting: list[tuple[int, Answer]] = []
    for kind, argument, number in steps:
        match kind, argument:
            case "produce", int(count):
                answer = broker.produce(count=count, acks=number)
                if number == -1 and len(isr) + 1 < min_isr:
                    assert answer.one.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
                    continue
                batch_ends.append(batch_ends[-1] + count)
                waiting.append((batch_ends[-1] if number == -1 else 0, answer))
            case "fetch", int(replica_id):
                copied = batch_ends.index(max(ends[replica_id], 0)) + number
                offset = batch_ends[min(copied, len(batch_ends) - 1)]
                result = broker.follower_fetch(replica_id, offset).one
                assert result.error_code == 0
                ends[replica_id] = offset
            case "isr", set() as members:
                isr = {int(member) for member in members}
                broker.change(topic_id, isr=(NODE, *sorted(isr)))
            case _:
                broker.change(topic_id, leader=NODE)
        end = batch_ends[-1]
        if len(isr) + 1 >= min_isr:
            committed = max(committed, min([end, *(ends[member] for member in isr)]))
        log = broker.log()
        assert (log.high_watermark, log.log_end_offset) == (committed, end)
        for required, answer in waiting:
            assert (answer.results is not None) == (required <= committed), (required, committed)
            assert answer.results is None or answer.one.error_code in (0, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        visible = broker.read().records
        assert (offsets_in(visible.read()) if visible else []) == list(range(committed))

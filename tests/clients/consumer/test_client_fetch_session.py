"""A session's client beside a broker that remembers as KIP-227 says: both always mean the same partitions."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.clients.consumer.fetch_session import FINAL_EPOCH, FetchSession, PartitionFetch, SessionRequest
from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import ZERO_UUID, Uuid

IDS = [Uuid.from_halves(9, number) for number in range(4)]


class SimulatedBroker:
    """Remembers one session, by topic id and partition, or by name."""

    def __init__(self) -> None:
        self.session_id = 0
        self.epoch = 0
        self.known: dict[tuple[str | Uuid, int], tuple[int, int, int]] = {}
        self._next_id = 100

    def receive(self, request: SessionRequest, *, give_session: bool) -> tuple[int, int]:
        """The error code and the session id of the answer."""
        by_name = request.max_version is not None
        asked = {
            (topic.topic if by_name else topic.topic_id, partition.partition): (
                partition.fetch_offset,
                partition.current_leader_epoch,
                partition.partition_max_bytes,
            )
            for topic in request.topics
            for partition in topic.partitions
        }
        if request.session_epoch == 0:
            assert not request.forgotten
            self.known = asked
            self.session_id, self.epoch = 0, 0
            if give_session:
                self._next_id += 1
                self.session_id, self.epoch = self._next_id, 1
            return ErrorCode.NONE, self.session_id
        if request.session_id != self.session_id:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0
        if request.session_epoch != self.epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0
        for topic in request.forgotten:
            for index in topic.partitions:
                assert self.known.pop((topic.topic if by_name else topic.topic_id, index), None), "forgets the unknown"
        self.known |= asked
        self.epoch += 1
        return ErrorCode.NONE, self.session_id


wanted = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["a", "b", "c"]), st.integers(0, 2)),
    st.builds(PartitionFetch, st.sampled_from(IDS), st.integers(0, 3), st.integers(0, 2), st.just(1000)),
    min_size=1,
)
turns = st.lists(
    st.tuples(wanted, st.sampled_from(["answer", "answer", "answer", "refuse", "lose", "forget", "nameless"])),
    max_size=20,
)


@given(turns)
def test_client_and_broker_mean_the_same_partitions(
    turns: list[tuple[dict[TopicPartition, PartitionFetch], str]],
) -> None:
    session, broker = FetchSession(), SimulatedBroker()
    for asked, event in turns:
        by_topic = {partition.topic: IDS["abc".index(partition.topic)] for partition in asked}
        fetches = {
            partition: fetch._replace(topic_id=by_topic[partition.topic] if event != "nameless" else ZERO_UUID)
            for partition, fetch in asked.items()
        }
        if event == "forget":
            broker.session_id = -1
        request = session.build(fetches)
        if event == "lose":
            session.failed()
            continue
        code, session_id = broker.receive(request, give_session=event != "refuse")
        if code == ErrorCode.NONE:
            meant = {
                (fetch.topic_id if event != "nameless" else partition.topic, partition.partition): fetch[1:]
                for partition, fetch in fetches.items()
            }
            assert broker.known == meant
            answered = fetches if request.session_epoch == 0 else {}
            assert session.answered(code, session_id, answered) is None
        else:
            assert session.answered(code, session_id, {}) is not None


def test_a_topic_that_was_made_again_is_forgotten_by_its_old_id() -> None:
    session = FetchSession()
    partition = TopicPartition("a", 0)
    session.build({partition: PartitionFetch(IDS[0], 5, 0, 100)})
    assert session.answered(0, 7, {partition: None}) is None
    request = session.build({partition: PartitionFetch(IDS[1], 0, 0, 100)})
    assert [topic.topic_id for topic in request.forgotten] == [IDS[0]]
    assert [topic.topic_id for topic in request.topics] == [IDS[1]]
    assert session.topic_name(IDS[1]) == "a"


def test_nothing_changed_is_an_empty_request_and_the_end_is_said() -> None:
    session = FetchSession()
    assert session.final() is None
    asked = {TopicPartition("a", 0): PartitionFetch(IDS[0], 5, 0, 100)}
    session.build(asked)
    assert session.answered(0, 7, asked) is None
    request = session.build(asked)
    assert (request.session_id, request.session_epoch, request.topics, request.forgotten) == (7, 1, [], [])
    assert session.answered(0, 7, {TopicPartition("z", 0): None}) is not None, "never asked for"
    assert session.build(asked).session_epoch == 0, "so a new session is asked for"
    assert session.answered(0, 8, {}) is not None, "a full answer has all partitions"
    final = session.final()
    assert final is not None
    assert final.session_epoch == FINAL_EPOCH

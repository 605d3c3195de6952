"""The lives of group members and of transactions, one request after the other's answer, some of them damaged.

Frames that are sent without waiting come too late: the generation or the epoch that they name is over. A story has a
link of its own, and knows what the last answer said.
"""

from collections.abc import Iterator, Sequence
from random import Random

from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.message import Message
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.records.builder import build_batch
from ottla.records.record import SimpleRecord
from ottla.server.api_tables import BROKER_APIS
from tests.fuzz.coordinator_examples import classic_member, consumer_member, transaction
from tests.fuzz.exclusions import is_excluded
from tests.fuzz.known_coordinator_values import CONSUMER_MEMBERS
from tests.fuzz.learned import TRANSACTIONAL_IDS, Learned
from tests.fuzz.mutations import UNDAMAGED, Frame, mutated, whole
from tests.fuzz.valid_requests import Valid, valid_request

DAMAGED_SHARE = 0.2
_CLASSIC_MEMBERS = 3
_RECORDS = (SimpleRecord(1_700_000_000_000, None, b"in a transaction"),)


class Story:
    """``messages`` again and again, each in any version. Before a transaction ends, a batch is written in it."""

    def __init__(
        self, messages: Sequence[Message], topic: str, topic_id: Uuid, correlation_ids: Iterator[int], rng: Random
    ) -> None:
        self._messages = messages
        self._topic = topic
        self._topic_id = topic_id
        self._correlation_ids = correlation_ids
        self._rng = rng
        self.learned = Learned()
        self.is_over = False

    def frames(self) -> Iterator[Frame]:
        """Until the story is over."""
        while not self.is_over:
            for message in self._messages:
                if isinstance(message, EndTxnRequest):
                    yield whole(self._produce(message.transactional_id), next(self._correlation_ids))
                frame = self._frame(message)
                if not is_excluded(frame.data):
                    yield frame

    def answered(self, frame: Frame, answer: memoryview) -> None:
        """What the next frames will know."""
        if frame.mutation == UNDAMAGED:
            self.learned.answered(frame.data, answer)

    def _frame(self, message: Message) -> Frame:
        rng = self._rng
        request = self._in_any_version(message)
        correlation_id = next(self._correlation_ids)
        is_damaged = rng.random() < DAMAGED_SHARE
        frame = mutated(request, correlation_id, rng) if is_damaged else whole(request, correlation_id)
        return frame._replace(data=self.learned.fill(frame.data))

    def _in_any_version(self, message: Message) -> Valid:
        api = BROKER_APIS[ApiKey(type(message).schema.api_key)]
        return valid_request(message, api.key, self._rng.randrange(api.lowest, api.highest + 1))

    def _produce(self, transactional_id: str) -> Valid:
        producer_id, producer_epoch = self.learned.producers[TRANSACTIONAL_IDS.index(transactional_id)]
        batch = build_batch(
            _RECORDS, producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=0, transactional=True
        )
        data = PartitionProduceData(index=self._rng.choice((0, 1)), records=bytes(batch))
        message = ProduceRequest(
            transactional_id=transactional_id,
            acks=-1,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name=self._topic, topic_id=self._topic_id, partition_data=[data])],
        )
        return self._in_any_version(message)


def stories(topic: str, topic_id: Uuid, correlation_ids: Iterator[int], rng: Random) -> list[Story]:
    """Members of both kinds of groups, and a story for every transactional id."""
    lives = [
        *(classic_member(topic, topic_id) for _ in range(_CLASSIC_MEMBERS)),
        *(consumer_member(member_id, topic, topic_id) for member_id in CONSUMER_MEMBERS),
        *(transaction(index, topic) for index in range(len(TRANSACTIONAL_IDS))),
    ]
    return [Story(list(life), topic, topic_id, correlation_ids, Random(rng.random())) for life in lives]

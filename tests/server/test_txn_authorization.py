"""What clients of the transaction APIs may not do, they are told in the place where their version looks."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from ottla.common.error_code import ErrorCode
from ottla.network.request import RequestContext
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from ottla.server.authorizer import AclOperation, Authorizer, ResourceType
from ottla.server.broker_server import BrokerServer
from ottla.testing import Broker
from tests.server.inside import inside
from tests.server.txn_wire import TRANSACTION_PROPERTIES, TxnProducer, describe_producers, topic_codes, write_marker
from tests.server.wire import Wire, create_topic

TXN_DENIED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
CLUSTER_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED

WRITE_TXN = (AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID)
READ_GROUP = (AclOperation.READ, ResourceType.GROUP)


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return TRANSACTION_PROPERTIES


@pytest.fixture
def topics(address: str, topic: str) -> tuple[str, str]:
    """A topic, and one that is ``secret``."""
    create_topic(address, topic)
    create_topic(address, f"secret-{topic}")
    return topic, f"secret-{topic}"


class Denying:
    """Lets everybody do everything but some operations, with things whose names begin so."""

    def __init__(self, *denied: tuple[AclOperation, ResourceType], prefix: str) -> None:
        self._denied = denied
        self._prefix = prefix

    async def start(self) -> None:
        """There is nothing to load."""

    def authorize(self, _context: RequestContext, operation: AclOperation, resource: ResourceType, name: str) -> bool:
        return (operation, resource) not in self._denied or not name.startswith(self._prefix)


@contextmanager
def denying(broker: Broker, *denied: tuple[AclOperation, ResourceType], prefix: str = "") -> Iterator[None]:
    """Let nobody do these things meanwhile."""

    def replace(authorizer: Authorizer) -> Authorizer:
        def swap(server: BrokerServer) -> Authorizer:
            before = server.services.authorizer
            server.services.authorizer = authorizer
            return before

        return inside(broker, swap)

    before = replace(Denying(*denied, prefix=prefix))
    try:
        yield
    finally:
        replace(before)


@pytest.mark.parametrize("version", range(6))
def test_init_producer_id(broker: Broker, wire: Wire, version: int) -> None:
    with denying(broker, WRITE_TXN, (AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER)):
        for transactional_id, code in (("txn", TXN_DENIED), (None, CLUSTER_DENIED)):
            request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=1000)
            answer = wire.ask(request, version)
            assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)


@pytest.mark.parametrize("version", range(4))
def test_add_partitions_to_txn(broker: Broker, producer: TxnProducer, topics: tuple[str, str], version: int) -> None:
    topic, secret = topics
    with denying(broker, WRITE_TXN):
        codes = producer.add_partitions((topic, 0), (secret, 0), version=version)
        assert codes == {(topic, 0): TXN_DENIED, (secret, 0): TXN_DENIED}
    with denying(broker, (AclOperation.WRITE, ResourceType.TOPIC), prefix="secret"):
        codes = producer.add_partitions((topic, 0), (secret, 0), version=version)
        assert codes == {(topic, 0): ErrorCode.OPERATION_NOT_ATTEMPTED, (secret, 0): TOPIC_DENIED}


@pytest.mark.parametrize("version", [4, 5])
def test_add_partitions_to_txn_is_for_brokers(
    broker: Broker, wire: Wire, producer: TxnProducer, topics: tuple[str, str], version: int
) -> None:
    request = AddPartitionsToTxnRequest(transactions=[producer.transaction((topics[1], 0))])
    with denying(broker, (AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER)):
        answer = wire.ask(request, version)
        assert (answer.error_code, list(answer.results_by_transaction)) == (CLUSTER_DENIED, [])
    with denying(broker, WRITE_TXN, (AclOperation.WRITE, ResourceType.TOPIC)):
        (result,) = wire.ask(request, version).results_by_transaction
        assert topic_codes(result.topic_results) == {(topics[1], 0): 0}, "the broker has asked before"


@pytest.mark.parametrize("version", range(5))
def test_add_offsets_to_txn(broker: Broker, producer: TxnProducer, version: int) -> None:
    with denying(broker, WRITE_TXN, READ_GROUP):
        assert producer.add_offsets("group", version) == TXN_DENIED
    with denying(broker, READ_GROUP):
        assert producer.add_offsets("group", version) == GROUP_DENIED


@pytest.mark.parametrize("version", range(6))
def test_end_txn(broker: Broker, producer: TxnProducer, version: int) -> None:
    with denying(broker, WRITE_TXN):
        assert producer.end(version=version) == TXN_DENIED


@pytest.mark.parametrize("version", range(6))
def test_txn_offset_commit(broker: Broker, producer: TxnProducer, topics: tuple[str, str], version: int) -> None:
    topic, secret = topics
    offsets = {(topic, 0): 1, (secret, 0): 2}
    with denying(broker, WRITE_TXN, READ_GROUP):
        assert producer.commit_offsets("group", offsets, version) == dict.fromkeys(offsets, TXN_DENIED)
    with denying(broker, READ_GROUP):
        assert producer.commit_offsets("group", offsets, version) == dict.fromkeys(offsets, GROUP_DENIED)
    with denying(broker, (AclOperation.READ, ResourceType.TOPIC)):
        assert producer.commit_offsets("group", offsets, version) == dict.fromkeys(offsets, TOPIC_DENIED)


@pytest.mark.parametrize("version", [9, 11, 12])
def test_produce_in_a_transaction(broker: Broker, producer: TxnProducer, topics: tuple[str, str], version: int) -> None:
    topic, _ = topics
    assert producer.add_partitions((topic, 0)) == {(topic, 0): 0}
    with denying(broker, WRITE_TXN):
        assert producer.produce(topic, version=version).error_code == TXN_DENIED
    assert producer.produce(topic, version=version).error_code == 0
    with denying(broker, WRITE_TXN):
        answer = producer.produce(topic, version=version, sequence=1)
        assert answer.error_code == TXN_DENIED, "in the middle of a transaction too"
    with denying(broker, (AclOperation.WRITE, ResourceType.TOPIC)):
        assert producer.produce(topic, version=version, sequence=1).error_code == TOPIC_DENIED
    assert producer.produce(topic, version=version, sequence=1).error_code == 0
    assert producer.end(version=4) == 0


@pytest.mark.parametrize("version", [1, 2])
def test_write_txn_markers(
    broker: Broker, wire: Wire, producer: TxnProducer, topics: tuple[str, str], version: int
) -> None:
    topic, secret = topics
    alter = (AclOperation.ALTER, ResourceType.CLUSTER)
    action = (AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER)
    with denying(broker, alter, action):
        codes = write_marker(wire, producer, (topic, 0), (secret, 0), version=version)
        assert codes == {(topic, 0): CLUSTER_DENIED, (secret, 0): CLUSTER_DENIED}
    for one in (alter, action):
        with denying(broker, one):
            assert write_marker(wire, producer, (topic, 0), version=version) == {(topic, 0): 0}, "either will do"


def test_looking_at_transactions(broker: Broker, wire: Wire, producer: TxnProducer, topics: tuple[str, str]) -> None:
    topic, secret = topics
    assert producer.produce(topic).error_code == 0
    assert producer.produce(secret).error_code == 0
    describe_txn = (AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID)
    with denying(broker, describe_txn):
        state = producer.describe()
        assert (state.error_code, state.transaction_state, state.producer_id) == (TXN_DENIED, "", 0)
        assert list(wire.ask(ListTransactionsRequest(), 2).transaction_states) == []
    with denying(broker, (AclOperation.DESCRIBE, ResourceType.TOPIC), prefix="secret"):
        state = producer.describe()
        assert (state.error_code, [one.topic for one in state.topics]) == (0, [topic])
    with denying(broker, (AclOperation.READ, ResourceType.TOPIC)):
        (answer,) = describe_producers(wire, topic)
        assert (answer.error_code, answer.error_message) == (TOPIC_DENIED, "Topic authorization failed.")
    assert producer.end() == 0

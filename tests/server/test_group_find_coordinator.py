"""FindCoordinator over the wire, in every version."""

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, Producer

from ottla.common.error_code import ErrorCode
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.server.auto_topic_creation import AutoTopicCreation
from ottla.server.error_metrics import ErrorMetrics
from ottla.testing import Broker
from tests.server.group_wire import GROUP_PROPERTIES, find_coordinators
from tests.server.wire import Wire

GROUP, TRANSACTION, SHARE = 0, 1, 2
SHARE_KEY = "group:AAAAAAAAAAAAAAAAAAAAAQ:0"


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return GROUP_PROPERTIES


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


@pytest.mark.parametrize("version", range(4))
def test_one_coordinator(wire: Wire, address: str, version: int) -> None:
    find_coordinators(wire, ["g"])
    answer = wire.ask(FindCoordinatorRequest(key="g", key_type=GROUP), version)
    assert (answer.error_code, answer.port) == (ErrorCode.NONE, port_of(address))
    assert answer.host
    assert answer.error_message == ("NONE" if version >= 1 else "")


@pytest.mark.parametrize("version", range(4, 7))
def test_many_coordinators(wire: Wire, address: str, version: int) -> None:
    find_coordinators(wire, ["a", "b", ""])
    answer = wire.ask(FindCoordinatorRequest(key_type=GROUP, coordinator_keys=["a", "b", ""]), version)
    assert [one.key for one in answer.coordinators] == ["a", "b", ""]
    for one in answer.coordinators:
        assert (one.error_code, one.port, one.error_message) == (ErrorCode.NONE, port_of(address), "")


@pytest.mark.parametrize("version", range(1, 7))
def test_a_transaction_coordinator(wire: Wire, address: str, version: int) -> None:
    find_coordinators(wire, ["t"], TRANSACTION)
    if version < 4:
        assert wire.ask(FindCoordinatorRequest(key="t", key_type=TRANSACTION), version).port == port_of(address)
    else:
        (one,) = wire.ask(FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["t"]), version).coordinators
        assert (one.error_code, one.port) == (ErrorCode.NONE, port_of(address))


def test_the_topics_come_into_being_as_they_are_configured(wire: Wire) -> None:
    find_coordinators(wire, ["g"])
    find_coordinators(wire, ["t"], TRANSACTION)
    for name in ("__consumer_offsets", "__transaction_state"):
        (topic,) = wire.ask(MetadataRequest(topics=[MetadataRequestTopic(name=name)]), 9).topics
        assert topic.is_internal
        assert len(topic.partitions) == 3


@pytest.mark.parametrize("version", [1, 3])
def test_an_unknown_kind_of_key(wire: Wire, version: int) -> None:
    answer = wire.ask(FindCoordinatorRequest(key="x", key_type=9), version)
    assert (answer.error_code, answer.node_id, answer.port) == (ErrorCode.INVALID_REQUEST, -1, -1)
    assert answer.error_message


@pytest.mark.parametrize("version", [4, 6])
def test_an_unknown_kind_of_keys(wire: Wire, version: int) -> None:
    answer = wire.ask(FindCoordinatorRequest(key_type=9, coordinator_keys=["x", "y"]), version)
    for one in answer.coordinators:
        assert (one.error_code, one.node_id, one.port) == (ErrorCode.INVALID_REQUEST, -1, -1)
        assert one.error_message


@pytest.mark.parametrize(
    ("version", "key", "code"),
    [
        (5, SHARE_KEY, ErrorCode.INVALID_REQUEST),
        (6, "no-share-key", ErrorCode.INVALID_REQUEST),
        (6, "group:not-an-id:0", ErrorCode.INVALID_REQUEST),
        (6, " :AAAAAAAAAAAAAAAAAAAAAQ:0", ErrorCode.INVALID_REQUEST),
        (6, "group:AAAAAAAAAAAAAAAAAAAAAQ:x", ErrorCode.INVALID_REQUEST),
        (6, SHARE_KEY, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_a_share_coordinator(wire: Wire, version: int, key: str, code: int) -> None:
    (one,) = wire.ask(FindCoordinatorRequest(key_type=SHARE, coordinator_keys=[key]), version).coordinators
    assert (one.error_code, one.node_id) == (code, -1)


@pytest.mark.parametrize("kind", [GROUP, TRANSACTION])
@pytest.mark.parametrize("version", [3, 6])
def test_the_first_question_makes_the_topic_and_is_answered_when_it_can_be_used(version: int, kind: int) -> None:
    with Broker(GROUP_PROPERTIES) as broker, Wire(broker.bootstrap_servers) as wire:
        answer = wire.ask(FindCoordinatorRequest(key="k", key_type=kind, coordinator_keys=["k"]), version)
        found = answer.coordinators[0] if version >= 4 else answer
        assert (found.error_code, found.port) == (ErrorCode.NONE, port_of(broker.bootstrap_servers))
        if kind == GROUP:
            asked = wire.ask(OffsetFetchRequest(group_id="k", topics=None), 2)
        else:
            asked = wire.ask(InitProducerIdRequest(transactional_id="k", transaction_timeout_ms=60_000), 4)
        assert asked.error_code == ErrorCode.NONE, "its partition is led and loaded"


def test_a_topic_that_cannot_be_made() -> None:
    with Broker({**GROUP_PROPERTIES, "offsets.topic.replication.factor": "3"}) as broker:
        with Wire(broker.bootstrap_servers) as wire:
            answer = wire.ask(FindCoordinatorRequest(key="g"), 3)
        assert (answer.error_code, answer.node_id, answer.port) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, -1)
        assert answer.error_message == "The coordinator is not available."


def test_who_waits_holds_up_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody answers the broker that asks for the topic; others are served, and who waits is told in the end."""
    asked = threading.Event()

    async def never(*_: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    with (
        Broker(GROUP_PROPERTIES) as broker,
        Wire(broker.bootstrap_servers) as waiting,
        Wire(broker.bootstrap_servers) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        monkeypatch.setattr(AutoTopicCreation, "_create", never)
        answer = pool.submit(waiting.ask, FindCoordinatorRequest(key="g"), 3)
        assert asked.wait(30)
        assert other.ask(MetadataRequest(topics=[]), 9).brokers
        assert not answer.done()
        assert answer.result(30).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_librdkafka_is_never_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would ask again a second later, in every user's first test."""
    properties = {"offsets.topic.num.partitions": "50"}
    counted: list[tuple[ApiKey, list[int]]] = []
    count = ErrorMetrics.count

    def note(metrics: ErrorMetrics, api_key: ApiKey, codes: list[int]) -> None:
        counted.append((api_key, codes))
        count(metrics, api_key, codes)

    monkeypatch.setattr(ErrorMetrics, "count", note)
    with Broker(properties) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        producer.produce("t", b"x")
        assert producer.flush(30) == 0
        consumer = Consumer(
            {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["t"])
        message = consumer.poll(30)
        assert message is not None
        assert message.value() == b"x"
        consumer.close()
    for asked in (ApiKey.FIND_COORDINATOR, ApiKey.JOIN_GROUP):
        codes = {code for api_key, codes in counted if api_key is asked for code in codes}
        assert codes <= {ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED}, asked

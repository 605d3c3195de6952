"""FindCoordinator over the wire, in every version."""

from collections.abc import Mapping

import pytest

from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ottla.testing import Broker
from tests.server.group_wire import GROUP_PROPERTIES, find_coordinators
from tests.server.wire import Wire, eventually

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


def test_before_there_is_a_topic() -> None:
    with Broker(GROUP_PROPERTIES) as broker, Wire(broker.bootstrap_servers) as wire:
        answer = wire.ask(FindCoordinatorRequest(key="g"), 3)
        assert (answer.error_code, answer.node_id, answer.port) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, -1)
        assert answer.error_message == "The coordinator is not available."
        for _ in eventually():
            if wire.ask(FindCoordinatorRequest(key="g"), 3).error_code == ErrorCode.NONE:
                break

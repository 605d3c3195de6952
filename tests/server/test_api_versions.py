"""ApiVersions over the wire: the table of handlers, in every version, on both kinds of listener; and Apache's."""

import struct
from pathlib import Path

import pytest

from ottla.common.error_code import ErrorCode
from ottla.metadata.features import SERVED_FEATURES
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import decode_response
from ottla.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.server.api_tables import BROKER_APIS, CONTROLLER_APIS
from tests.oracle import Oracle
from tests.server.wire import Wire

VERSIONS = range(5)
REQUEST = ApiVersionsRequest(client_software_name="wire", client_software_version="1.0")
Ranges = dict[ApiKey, tuple[int, int]]

NOT_YET = {
    *("SASL_HANDSHAKE", "SASL_AUTHENTICATE", "DESCRIBE_ACLS", "CREATE_ACLS", "DELETE_ACLS"),
    *("CREATE_DELEGATION_TOKEN", "RENEW_DELEGATION_TOKEN", "EXPIRE_DELEGATION_TOKEN", "DESCRIBE_DELEGATION_TOKEN"),
    *("DESCRIBE_CLIENT_QUOTAS", "ALTER_CLIENT_QUOTAS"),
    *("DESCRIBE_USER_SCRAM_CREDENTIALS", "ALTER_USER_SCRAM_CREDENTIALS"),
    *("ALTER_PARTITION_REASSIGNMENTS", "ADD_RAFT_VOTER", "REMOVE_RAFT_VOTER"),
    *("SHARE_GROUP_HEARTBEAT", "SHARE_GROUP_DESCRIBE", "SHARE_FETCH", "SHARE_ACKNOWLEDGE"),
    *("INITIALIZE_SHARE_GROUP_STATE", "READ_SHARE_GROUP_STATE", "WRITE_SHARE_GROUP_STATE"),
    *("DELETE_SHARE_GROUP_STATE", "READ_SHARE_GROUP_STATE_SUMMARY", "DESCRIBE_SHARE_GROUP_OFFSETS"),
    *("ALTER_SHARE_GROUP_OFFSETS", "DELETE_SHARE_GROUP_OFFSETS"),
    *("STREAMS_GROUP_HEARTBEAT", "STREAMS_GROUP_DESCRIBE"),
}
"""What Apache's broker answers and ours does not: security, quotas, reassignment, share and streams groups."""
NOT_YET_ON_CONTROLLERS = {
    *("VOTE", "BEGIN_QUORUM_EPOCH", "END_QUORUM_EPOCH", "FETCH_SNAPSHOT", "UPDATE_RAFT_VOTER", "FETCH", "ENVELOPE"),
}
"""What Apache's controller answers besides: what several controllers say to each other."""


def ranges(response: ApiVersionsResponse) -> Ranges:
    return {ApiKey(api.api_key): (api.min_version, api.max_version) for api in response.api_keys}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_says_what_the_handlers_say(wire: Wire, controller_wire: Wire, version: int) -> None:
    for connection, apis in ((wire, BROKER_APIS), (controller_wire, CONTROLLER_APIS)):
        response = connection.ask(REQUEST, version)
        assert response.error_code == 0
        expected = {key: (api.lowest, api.highest) for key, api in apis.items()}
        if ApiKey.PRODUCE in expected:
            expected[ApiKey.PRODUCE] = (0, 13)
        assert ranges(response) == expected
        assert [api.api_key for api in response.api_keys] == sorted(expected), "by key"


def test_the_listeners_have_tables_of_their_own() -> None:
    assert ApiKey.PRODUCE not in CONTROLLER_APIS
    assert ApiKey.BROKER_HEARTBEAT not in BROKER_APIS
    assert ApiKey.API_VERSIONS in BROKER_APIS
    assert ApiKey.API_VERSIONS in CONTROLLER_APIS


@pytest.mark.parametrize("version", VERSIONS)
def test_features(wire: Wire, version: int) -> None:
    response = wire.ask(REQUEST, version)
    supported = {each.name: (each.min_version, each.max_version) for each in response.supported_features}
    finalized = {each.name: (each.min_version_level, each.max_version_level) for each in response.finalized_features}
    if version < 3:
        assert supported == finalized == {}
        return
    everything = {name: (levels.lowest, levels.highest) for name, levels in SERVED_FEATURES.items()}
    if version < 4:
        everything = {name: levels for name, levels in everything.items() if levels[0] > 0}
    assert supported == everything
    assert finalized["metadata.version"] == (30, 30)
    assert finalized["kraft.version"] == (1, 1)
    assert response.finalized_features_epoch > 0


@pytest.mark.parametrize("version", [5, 6, 99, 32767])
def test_an_unknown_version_is_answered_in_version_0(wire: Wire, version: int) -> None:
    body = struct.pack(">hhih", ApiKey.API_VERSIONS, version, 7, -1) + b"\0\1\1\0"
    wire.send_frame(struct.pack(">i", len(body)) + body)
    correlation_id, response = decode_response(ApiKey.API_VERSIONS, 0, memoryview(wire.receive_frame()))
    assert isinstance(response, ApiVersionsResponse)
    assert (correlation_id, response.error_code) == (7, ErrorCode.UNSUPPORTED_VERSION)
    assert ranges(response) == {ApiKey.API_VERSIONS: (0, 4)}
    assert wire.ask(REQUEST, 4).error_code == 0, "and the connection goes on"


@pytest.mark.parametrize(
    ("name", "software_version"), [("", "1"), ("wire", ""), ("a b", "1"), ("wire", "-1"), ("ü", "1")]
)
def test_software_must_have_a_decent_name(wire: Wire, name: str, software_version: str) -> None:
    named = ApiVersionsRequest(client_software_name=name, client_software_version=software_version)
    for version in (3, 4):
        response = wire.ask(named, version)
        assert response.error_code == ErrorCode.INVALID_REQUEST
        assert list(response.api_keys) == []
    assert wire.ask(named, 2).error_code == 0, "which older versions do not say"


def test_unsupported_versions_of_other_apis_cost_the_connection(wire: Wire) -> None:
    body = struct.pack(">hhih", ApiKey.METADATA, 99, 1, -1) + bytes(10)
    wire.send_frame(struct.pack(">i", len(body)) + body)
    assert wire.is_hung_up()


def test_the_versions_are_apaches(oracle: Oracle, wire: Wire, controller_wire: Wire, tmp_path: Path) -> None:
    """The same ranges for all that we answer, and a list of what we do not."""
    with oracle.broker(tmp_path / "apache") as node:
        for ours, address, missing in (
            (wire, node.bootstrap, NOT_YET),
            (controller_wire, node.bootstrap_controller, NOT_YET | NOT_YET_ON_CONTROLLERS),
        ):
            with Wire(address) as theirs:
                apache, ottla = ranges(theirs.ask(REQUEST, 4)), ranges(ours.ask(REQUEST, 4))
            assert ottla == {key: apache.get(key) for key in ottla}
            assert {key.name for key in apache.keys() - ottla.keys()} <= missing
            if ours is wire:
                assert {key.name for key in apache.keys() - ottla.keys()} == missing

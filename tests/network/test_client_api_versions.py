"""Which version is spoken; the errors in a response; who heeds a throttle time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.error_code import ErrorCode
from ottla.common.errors import InvalidRequestError, KafkaError
from ottla.network.client_errors import UnsupportedVersionError
from ottla.network.client_throttle import CLIENT_THROTTLES_FROM, should_client_throttle
from ottla.network.node_api_versions import NodeApiVersions, decode_api_versions_response, fallback_version
from ottla.network.response_errors import error_codes, has_error
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import response_frame
from ottla.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from ottla.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from ottla.protocol.messages.envelope import EnvelopeResponse
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

OURS = MetadataRequest.schema.versions


def speaking(low: int, high: int, api_key: int = ApiKey.METADATA) -> NodeApiVersions:
    api = ApiVersion(api_key=api_key, min_version=low, max_version=high)
    return NodeApiVersions(ApiVersionsResponse(api_keys=[api]))


@given(st.integers(0, 20), st.integers(0, 20), st.none() | st.integers(0, 20))
def test_the_newest_version_in_common(low: int, high: int, max_version: int | None) -> None:
    common = set(range(low, high + 1)) & set(range(OURS.lowest, OURS.highest + 1))
    common -= {version for version in common if max_version is not None and version > max_version}
    versions = speaking(low, high)
    for _ in range(2):  # the second answer comes from the cache
        if common:
            assert versions.latest_usable_version(MetadataRequest, max_version) == max(common)
        else:
            with pytest.raises(UnsupportedVersionError) as caught:
                versions.latest_usable_version(MetadataRequest, max_version)
            assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION


def test_an_api_that_the_node_lacks() -> None:
    with pytest.raises(UnsupportedVersionError, match="The node does not support Heartbeat"):
        speaking(0, 9).latest_usable_version(HeartbeatRequest)


def test_apis_that_we_do_not_know_and_features_are_kept() -> None:
    response = ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=9_999, min_version=1, max_version=2)],
        supported_features=[SupportedFeatureKey(name="metadata.version", min_version=1, max_version=29)],
        finalized_features=[FinalizedFeatureKey(name="metadata.version", max_version_level=27)],
        finalized_features_epoch=12,
    )
    versions = NodeApiVersions(response)
    assert versions.versions == {9_999: (1, 2)}
    assert versions.supported_features == {"metadata.version": (1, 29)}
    assert versions.finalized_features == {"metadata.version": 27}
    assert versions.finalized_features_epoch == 12


def test_a_node_that_is_taken_to_speak_what_we_speak() -> None:
    versions = NodeApiVersions.newest()
    for key in ApiKey:
        assert versions.latest_usable_version(key.request_class) == key.request_class.schema.versions.highest


def refusal(code: int, *known: tuple[int, int]) -> ApiVersionsResponse:
    keys = [ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=low, max_version=high) for low, high in known]
    return ApiVersionsResponse(error_code=code, api_keys=keys)


@pytest.mark.parametrize(
    ("asked", "response", "next_asked"),
    [
        (4, refusal(0), None),
        (0, refusal(0), None),
        (4, refusal(35), 0),
        (4, refusal(35, (0, 2)), 2),
        (3, refusal(35, (0, 0)), 0),
    ],
)
def test_what_to_ask_next(asked: int, response: ApiVersionsResponse, next_asked: int | None) -> None:
    assert fallback_version(asked, response) == next_asked


@pytest.mark.parametrize(
    ("asked", "response", "code"),
    [
        (0, refusal(35), ErrorCode.UNSUPPORTED_VERSION),
        (4, refusal(42), ErrorCode.INVALID_REQUEST),
        (4, refusal(12_345), ErrorCode.UNKNOWN_SERVER_ERROR),
        (4, refusal(35, (0, 4)), ErrorCode.UNSUPPORTED_VERSION),  # it would be asked for ever
        (4, refusal(35, (5, 9)), ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_a_node_that_cannot_be_talked_to(asked: int, response: ApiVersionsResponse, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as caught:
        fallback_version(asked, response)
    assert caught.value.code == code


def frame(response: ApiVersionsResponse, version: int) -> memoryview:
    parts = response_frame(ApiKey.API_VERSIONS, version, 7, response)
    return memoryview(b"".join(bytes(part) for part in parts if isinstance(part, bytes | bytearray)))[4:]


@pytest.mark.parametrize("asked", range(5))
@pytest.mark.parametrize("response", [refusal(35), refusal(35, (0, 2))])
def test_a_refusal_comes_in_version_0(asked: int, response: ApiVersionsResponse) -> None:
    assert decode_api_versions_response(asked, frame(response, 0)) == response


def test_an_answer_that_is_no_version() -> None:
    for asked in (0, 4):
        with pytest.raises(InvalidRequestError):
            decode_api_versions_response(asked, memoryview(b"\0\0\0\7garbage"))


def test_errors_are_found_wherever_they_stand() -> None:
    created = CreateTopicsResponse(topics=[CreatableTopicResult(), CreatableTopicResult(error_code=41)])
    assert has_error(created, ErrorCode.NOT_CONTROLLER)
    assert not has_error(created, ErrorCode.INVALID_REQUEST)
    assert has_error(EnvelopeResponse(error_code=41), ErrorCode.NOT_CONTROLLER)
    partition = MetadataResponsePartition(error_code=5)
    nested = MetadataResponse(topics=[MetadataResponseTopic(error_code=3, partitions=[partition])])
    assert {3, 5} <= set(error_codes(nested))


def test_who_heeds_a_throttle_time_as_apache_says() -> None:
    assert not should_client_throttle(ApiKey.PRODUCE, 5)
    assert should_client_throttle(ApiKey.PRODUCE, 6)
    assert not should_client_throttle(ApiKey.VOTE, 2)
    assert len(CLIENT_THROTTLES_FROM) == 46

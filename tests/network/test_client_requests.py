"""Requests over a connection: order, bound, deadlines, throttling, versions, and answers that are none."""

import asyncio
import socket
from collections import deque
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.network.client_connection import RECEIVE_BYTES
from ottla.network.client_errors import (
    CorrelationIdMismatchError,
    NetworkError,
    RequestTimedOutError,
    UnsupportedVersionError,
)
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from ottla.protocol.messages.produce import ProduceRequest
from ottla.runtime.inline import ManualClock
from tests.network.client_harness import QUICK, Received, ScriptedBroker, new_client, run


def echo_number(received: Received) -> None:
    """Answers with the request's number, so that a test sees which answer is which."""
    received.answer(MetadataResponse(controller_id=received.header.correlation_id))


def test_a_request_and_its_answer() -> None:
    async def test() -> None:
        async with ScriptedBroker() as broker, new_client() as client:
            answer = client.send(broker.node, MetadataRequest(allow_auto_topic_creation=False))
            received = await broker.next_request()
            assert received.header[:2] == (ApiKey.METADATA, 13)
            assert received.header.client_id == "test"
            assert received.body == MetadataRequest(allow_auto_topic_creation=False)
            received.answer(MetadataResponse(cluster_id="here"))
            assert await answer == MetadataResponse(cluster_id="here")
            assert client.is_ready(broker.node)
            first = broker.api_versions_requests[0]
            assert first.header[:2] == (ApiKey.API_VERSIONS, 4)
            assert isinstance(first.body, ApiVersionsRequest)
            assert first.body.client_software_name == "ottla"

    run(test())


def test_small_requests_do_not_wait_for_each_other() -> None:
    """Nagle's algorithm is off: a request behind one that the node takes its time over leaves at once."""

    async def test() -> None:
        async with ScriptedBroker() as broker, new_client() as client:
            await client.connect(broker.node)
            connection = client._channels[broker.node.id]._connection
            assert connection is not None
            sock = connection._transport.get_extra_info("socket")
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1

    run(test())


def test_order_and_bound() -> None:
    """Never more than three in flight; all leave and are answered in the order of the calls."""

    async def test() -> None:
        config = replace(QUICK, max_in_flight_requests_per_connection=3)
        async with ScriptedBroker() as broker, new_client(config) as client:
            answers = [client.send(broker.node, MetadataRequest()) for _ in range(10)]
            unanswered = deque(await broker.next_requests(3))
            ids = []
            for number, answer in enumerate(answers):
                assert client.in_flight_count(broker.node) == len(unanswered) == min(3, 10 - number)
                assert broker.received.empty()
                ids.append(unanswered[0].header.correlation_id)
                echo_number(unanswered.popleft())
                assert (await answer).controller_id == ids[-1]
                assert not any(later.done() for later in answers[number + 1 :])
                if number < 7:
                    unanswered.append(await broker.next_request())
            assert ids == list(range(1, 11))

    run(test())


@settings(max_examples=15)
@given(st.integers(1, 8), st.integers(1, 60))
def test_any_bound_and_any_number(bound: int, count: int) -> None:
    async def test() -> None:
        config = replace(QUICK, max_in_flight_requests_per_connection=bound)
        async with ScriptedBroker() as broker, new_client(config) as client:
            broker.handle = echo_number
            responses = await asyncio.gather(*[client.send(broker.node, MetadataRequest()) for _ in range(count)])
            ids = [response.controller_id for response in responses]
            assert ids == list(range(ids[0], ids[0] + count))

    run(test())


def test_more_than_may_wait_are_refused() -> None:
    async def test() -> None:
        config = replace(QUICK, max_in_flight_requests_per_connection=1, max_waiting_requests=2)
        async with ScriptedBroker() as broker, new_client(config) as client:
            await client.connect(broker.node)
            answers = [client.send(broker.node, MetadataRequest()) for _ in range(4)]
            with pytest.raises(NetworkError, match="2 requests wait"):
                await answers[3]
            for answer in answers[:3]:
                echo_number(await broker.next_request())
                await answer

    run(test())


def test_one_who_goes_away_while_waiting_is_never_sent() -> None:
    async def test() -> None:
        config = replace(QUICK, max_in_flight_requests_per_connection=1)
        async with ScriptedBroker() as broker, new_client(config) as client:
            await client.connect(broker.node)
            first, gone, last = (client.send(broker.node, MetadataRequest(), max_version=v) for v in (9, 10, 11))
            gone.cancel()
            echo_number(await broker.next_request())
            await first
            received = await broker.next_request()
            assert received.header.api_version == 11
            first_gone = client.send(broker.node, MetadataRequest())
            last.cancel()  # in flight: its answer is read and dropped
            echo_number(received)
            echo_number(await broker.next_request())
            assert (await first_gone).controller_id == received.header.correlation_id + 1

    run(test())


def test_a_request_without_an_answer_takes_no_place() -> None:
    async def test() -> None:
        config = replace(QUICK, max_in_flight_requests_per_connection=1)
        async with ScriptedBroker() as broker, new_client(config) as client:
            unanswered = [client.send(broker.node, ProduceRequest(acks=0), expect_response=False) for _ in range(3)]
            assert await asyncio.gather(*unanswered) == [None, None, None]
            answer = client.send(broker.node, MetadataRequest())
            received = await broker.next_requests(4)
            assert [request.header.api_key for request in received] == [ApiKey.PRODUCE] * 3 + [ApiKey.METADATA]
            echo_number(received[3])
            await answer

    run(test())


def test_a_timeout_closes_the_connection_and_fails_all_in_flight() -> None:
    async def test() -> None:
        clock = ManualClock()
        async with ScriptedBroker() as broker, new_client(clock=clock) as client:
            await client.connect(broker.node)
            patient = client.send(broker.node, MetadataRequest(), timeout_ms=60_000)
            impatient = client.send(broker.node, MetadataRequest(), timeout_ms=30_000)
            late = await broker.next_request()
            clock.advance_ms(30_000)
            client.expire()
            assert not impatient.done()
            clock.advance_ms(1)
            client.expire()
            for answer in (patient, impatient):
                with pytest.raises(RequestTimedOutError, match="due to request timeout") as caught:
                    await answer
                assert caught.value.code == ErrorCode.REQUEST_TIMED_OUT
                assert caught.value.retriable
            assert client.connection_failed(broker.node)
            echo_number(late)  # nobody listens any more
            clock.advance_ms(1_000)
            broker.handle = echo_number
            await client.send(broker.node, MetadataRequest())
            assert broker.accepted == 2

    run(test())


def test_the_timer_sees_to_it() -> None:
    async def test() -> None:
        async with ScriptedBroker() as broker, new_client() as client:
            await client.connect(broker.node)
            with pytest.raises(RequestTimedOutError):
                await client.send(broker.node, MetadataRequest(), timeout_ms=2)

    run(test())


def test_a_node_that_never_answers_api_versions() -> None:
    async def test() -> None:
        async with (
            ScriptedBroker(answers_api_versions=False) as broker,
            new_client(replace(QUICK, request_timeout_ms=3)) as client,
        ):
            with pytest.raises(RequestTimedOutError):
                await client.send(broker.node, MetadataRequest(), timeout_ms=10_000)

    run(test())


def test_one_who_waits_too_long_does_not_cost_the_connection() -> None:
    async def test() -> None:
        clock = ManualClock()
        config = replace(QUICK, max_in_flight_requests_per_connection=1)
        async with ScriptedBroker() as broker, new_client(config, clock=clock) as client:
            await client.connect(broker.node)
            in_flight = client.send(broker.node, MetadataRequest(), timeout_ms=1_000)
            waiting = client.send(broker.node, MetadataRequest(), timeout_ms=10)
            clock.advance_ms(11)
            client.expire()
            with pytest.raises(RequestTimedOutError, match="could not be sent to in time"):
                await waiting
            echo_number(await broker.next_request())
            await in_flight
            assert broker.accepted == 1

    run(test())


def test_throttling_holds_requests_back_and_gives_those_in_flight_time() -> None:
    async def test() -> None:
        clock = ManualClock()
        async with ScriptedBroker() as broker, new_client(clock=clock) as client:
            await client.connect(broker.node)
            first = client.send(broker.node, MetadataRequest())
            second = client.send(broker.node, MetadataRequest(), timeout_ms=1_000)
            received = await broker.next_requests(2)
            received[0].answer(MetadataResponse(throttle_time_ms=5_000))
            await first
            assert not client.is_ready(broker.node)
            held_back = client.send(broker.node, MetadataRequest())
            clock.advance_ms(4_999)
            client.expire()
            assert not second.done()
            assert client.in_flight_count(broker.node) == 1
            clock.advance_ms(1)
            client.expire()
            assert client.in_flight_count(broker.node) == 2
            echo_number(received[1])
            echo_number(await broker.next_request())
            await asyncio.gather(second, held_back)

    run(test())


def test_nobody_overtakes_those_held_back() -> None:
    """The throttle time is over, but no timer has said so yet."""

    async def test() -> None:
        clock = ManualClock()
        async with ScriptedBroker() as broker, new_client(clock=clock) as client:
            throttled = client.send(broker.node, MetadataRequest())
            (await broker.next_request()).answer(MetadataResponse(throttle_time_ms=60_000))
            await throttled
            answers = [client.send(broker.node, MetadataRequest(), max_version=9)]
            clock.advance_ms(60_000)
            answers.append(client.send(broker.node, MetadataRequest(), max_version=10))
            received = await broker.next_requests(2)
            assert [request.header.api_version for request in received] == [9, 10]
            for request in received:
                echo_number(request)
            await asyncio.gather(*answers)

    run(test())


def test_an_old_version_throttles_at_the_broker() -> None:
    async def test() -> None:
        async with ScriptedBroker() as broker, new_client() as client:
            answer = client.send(broker.node, MetadataRequest(), max_version=5)
            (await broker.next_request()).answer(MetadataResponse(throttle_time_ms=5_000))
            assert (await answer).throttle_time_ms == 5_000
            assert client.is_ready(broker.node)

    run(test())


def test_the_wrong_correlation_id_closes_the_connection() -> None:
    async def test() -> None:
        async with ScriptedBroker() as broker, new_client() as client:
            answers = [client.send(broker.node, MetadataRequest()) for _ in range(2)]
            received = await broker.next_requests(2)
            echo_number(received[1])
            for answer in answers:
                with pytest.raises(CorrelationIdMismatchError):
                    await answer
            assert client.connection_failed(broker.node)
            broker.handle = echo_number
            await client.send(broker.node, MetadataRequest())

    run(test())


@pytest.mark.parametrize(
    "garbage",
    [
        b"\xff\xff\xff\xff",
        b"\0\0\0\2ab",
        b"\0\0\0\0",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x15\x03\x03\0\2\2\x46",
        b"\0\0\0\x08\0\0\0\1\0\0\0\0\0",
    ],
)
def test_garbage_closes_the_connection(garbage: bytes) -> None:
    """Sizes that are none, frames without an id, other protocols, and a right id with a body that is no Metadata."""

    async def test() -> None:
        config = replace(QUICK, receive_max_bytes=1_000_000)
        async with ScriptedBroker() as broker, new_client(config) as client:
            answers = [client.send(broker.node, MetadataRequest()) for _ in range(2)]
            received = await broker.next_request()
            assert received.header.correlation_id == 1
            received.writer.write(garbage)
            for answer in answers:
                with pytest.raises(NetworkError) as caught:
                    await answer
                assert caught.value.retriable
            assert not client.is_ready(broker.node)

    run(test())


def test_an_answer_nobody_asked_for() -> None:
    async def test() -> None:
        async with ScriptedBroker() as broker, new_client() as client:
            answer = client.send(broker.node, MetadataRequest())
            received = await broker.next_request()
            echo_number(received)
            await answer
            received.writer.write(b"\0\0\0\4\0\0\0\x63")
            while client.is_ready(broker.node):
                await asyncio.sleep(0)
            assert client.connection_failed(broker.node)

    run(test())


@pytest.mark.parametrize("size", [0, 1, RECEIVE_BYTES - 30, RECEIVE_BYTES, RECEIVE_BYTES + 1, 5 * RECEIVE_BYTES + 7])
def test_answers_of_every_size_between_small_ones(size: int) -> None:
    async def test() -> None:
        async with ScriptedBroker() as broker, new_client() as client:
            answers = [client.send(broker.node, MetadataRequest(), max_version=8) for _ in range(3)]
            small, large, last = await broker.next_requests(3)
            small.answer(MetadataResponse(controller_id=1))
            name = "n" * size
            names = [name[at : at + 30_000] for at in range(0, size, 30_000)]
            large.answer(MetadataResponse(topics=[MetadataResponseTopic(name=name) for name in names]))
            last.answer(MetadataResponse(controller_id=3))
            first_response, response, last_response = await asyncio.gather(*answers)
            assert "".join(topic.name for topic in response.topics) == name
            assert (first_response.controller_id, last_response.controller_id) == (1, 3)

    run(test())


def test_the_newest_common_version_is_spoken() -> None:
    async def test() -> None:
        async with ScriptedBroker() as broker, new_client() as client:
            broker.spoken[ApiKey.METADATA] = (0, 7)
            answer = client.send(broker.node, MetadataRequest())
            received = await broker.next_request()
            assert received.header.api_version == 7
            echo_number(received)
            await answer

    run(test())


def test_no_common_version_costs_nobody_else() -> None:
    async def test() -> None:
        async with ScriptedBroker() as broker, new_client() as client:
            broker.handle = echo_number
            broker.spoken[ApiKey.PRODUCE] = (50, 60)
            refused = [client.send(broker.node, ProduceRequest()), client.send(broker.node, HeartbeatRequest())]
            answer = client.send(broker.node, MetadataRequest())
            for request in refused:
                with pytest.raises(UnsupportedVersionError):
                    await request
            await answer

    run(test())


@pytest.mark.parametrize(("newest", "asked"), [(0, [4, 0]), (2, [4, 2]), (3, [4, 3])])
def test_an_old_broker(newest: int, asked: list[int]) -> None:
    """It refuses our ApiVersions in version 0 and says what it knows."""

    async def test() -> None:
        async with ScriptedBroker() as broker, new_client() as client:
            broker.spoken[ApiKey.API_VERSIONS] = (0, newest)
            versions = await client.connect(broker.node)
            assert [request.header.api_version for request in broker.api_versions_requests] == asked
            assert versions.versions[ApiKey.METADATA] == (0, 13)
            assert client.api_versions(broker.node) is versions

    run(test())


def test_a_very_old_broker_that_says_nothing() -> None:
    async def test() -> None:
        asked: list[int] = []

        def refuse(received: Received) -> None:
            asked.append(received.header.api_version)
            received.answer(ApiVersionsResponse(error_code=35), version=0)

        async with ScriptedBroker(answers_api_versions=False) as broker, new_client() as client:
            broker.handle = refuse
            with pytest.raises(KafkaError) as caught:
                await client.connect(broker.node)
            assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION
            assert asked == [4, 0]
            assert client.connection_failed(broker.node)

    run(test())


def test_without_asking_for_versions() -> None:
    async def test() -> None:
        config = replace(QUICK, discover_broker_versions=False)
        async with ScriptedBroker() as broker, new_client(config) as client:
            broker.handle = echo_number
            await client.send(broker.node, MetadataRequest())
            assert not broker.api_versions_requests

    run(test())


def test_a_node_that_does_not_read_holds_requests_back() -> None:
    """What the socket does not take is bounded by the transport's high-water mark and one request."""

    async def test() -> None:
        config = replace(QUICK, max_in_flight_requests_per_connection=1_000, send_buffer_bytes=4_096)
        async with ScriptedBroker() as broker, new_client(config) as client:
            await client.connect(broker.node)
            large = ProduceRequest(transactional_id="t" * 30_000)
            answers = [client.send(broker.node, large) for _ in range(400)]
            await asyncio.sleep(0)
            assert client.in_flight_count(broker.node) < 400
            for number, answer in enumerate(answers):
                received = await broker.next_request()
                received.answer(ApiKey.PRODUCE.response_class(throttle_time_ms=0))
                await answer
                assert received.header.correlation_id == number + 1

    run(test())

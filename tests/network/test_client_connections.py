"""Connections: lost, refused, backed off from, to several addresses, authenticated, under TLS."""

import asyncio
import shutil
import socket
import ssl
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest

from ottla.network.authenticator import Exchange, reauthentication_delay_ms
from ottla.network.client_config import NetworkClientConfig
from ottla.network.client_errors import AuthenticationError, NetworkError, RequestTimedOutError
from ottla.network.connection_states import Address, ConnectionState
from ottla.network.network_client import NetworkClient
from ottla.network.node import Node
from ottla.network.node_api_versions import NodeApiVersions
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.message import Message
from ottla.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from ottla.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from ottla.runtime.inline import ManualClock
from ottla.runtime.live import AsyncioRuntime
from tests.network.client_harness import QUICK, Received, ScriptedBroker, new_client, run


def answer_any(received: Received) -> None:
    response = SaslHandshakeResponse() if received.header.api_key is ApiKey.SASL_HANDSHAKE else MetadataResponse()
    received.answer(response)


def refused_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


class Names:
    """A resolver with a table, which counts."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.lookups = 0

    async def resolve(self, host: str, port: int) -> list[Address]:
        self.lookups += 1
        return [Address(socket.AF_INET, (address, port)) for address in self.addresses]


def test_a_disconnect_fails_all_in_flight_and_all_that_wait() -> None:
    async def test() -> None:
        config = replace(QUICK, max_in_flight_requests_per_connection=2)
        async with ScriptedBroker() as broker, new_client(config) as client:
            answers = [client.send(broker.node, MetadataRequest()) for _ in range(4)]
            await broker.next_requests(2)
            broker.drop_connections()
            for answer in answers:
                with pytest.raises(NetworkError, match="closed before the response was read") as caught:
                    await answer
                assert (caught.value.code, caught.value.retriable) == (13, True)
            assert client.connection_failed(broker.node)
            assert client.api_versions(broker.node) is None
            broker.handle = answer_any
            await client.send(broker.node, MetadataRequest())
            assert broker.accepted == 2
            assert not client.connection_failed(broker.node)

    run(test())


def test_half_an_answer_is_none() -> None:
    async def test() -> None:
        async with ScriptedBroker() as broker, new_client() as client:
            answer = client.send(broker.node, MetadataRequest())
            received = await broker.next_request()
            received.writer.write(b"\0\0\1\0\0\0\0\1")
            await received.writer.drain()
            received.writer.close()
            with pytest.raises(NetworkError):
                await answer

    run(test())


def test_a_refused_connection() -> None:
    async def test() -> None:
        async with new_client() as client:
            node = Node(1, "127.0.0.1", refused_port())
            with pytest.raises(NetworkError, match=r"\(127\.0\.0\.1\) could not be established: Connection refused$"):
                await client.send(node, MetadataRequest())
            assert client.connection_failed(node)
            assert client.connection_state(node) is ConnectionState.DISCONNECTED

    run(test())


def test_a_name_that_does_not_exist() -> None:
    async def test() -> None:
        async with new_client() as client:
            for host in ("no-such-host.invalid", "x" * 100 + ".invalid"):
                with pytest.raises(NetworkError, match="could not be established"):
                    await client.send(Node(1, host, 9092), MetadataRequest())

    run(test())


def test_each_failure_waits_longer_before_the_next_attempt() -> None:
    """The runtime's sleeps are recorded, and the manual clock passes them."""

    class Sleepless(AsyncioRuntime):
        def __init__(self) -> None:
            self.manual = ManualClock()
            self.slept_ms: list[int] = []
            super().__init__(clock=self.manual, blocking_threads=1)

        async def sleep_ms(self, duration_ms: int) -> None:
            self.slept_ms.append(duration_ms)
            self.manual.advance_ms(duration_ms)

    async def test() -> None:
        runtime = Sleepless()
        config = NetworkClientConfig(reconnect_backoff_ms=1_000, reconnect_backoff_max_ms=16_000)
        node = Node(1, "127.0.0.1", refused_port())
        async with NetworkClient(runtime, "test", config) as client:
            for _ in range(7):
                with pytest.raises(NetworkError):
                    await client.send(node, MetadataRequest(), timeout_ms=100_000)
        assert len(runtime.slept_ms) == 6
        for slept_ms, middle_ms in zip(runtime.slept_ms, (1_000, 2_000, 4_000, 8_000, 16_000, 16_000), strict=True):
            assert middle_ms * 0.8 <= slept_ms <= min(middle_ms * 1.2, 16_000)
        runtime.close()

    run(test())


def test_one_who_waits_out_a_backoff_gives_up_in_time() -> None:
    async def test() -> None:
        config = replace(QUICK, reconnect_backoff_ms=60_000, reconnect_backoff_max_ms=60_000)
        async with new_client(config) as client:
            node = Node(1, "127.0.0.1", refused_port())
            with pytest.raises(NetworkError, match="established"):
                await client.send(node, MetadataRequest())
            with pytest.raises(RequestTimedOutError):
                await client.send(node, MetadataRequest(), timeout_ms=2)

    run(test())


def test_two_addresses_and_one_is_dead() -> None:
    """127.0.0.2 refuses: the request waits for the second address and hears nothing of the first."""

    async def test() -> None:
        names = Names("127.0.0.2", "127.0.0.1")
        async with ScriptedBroker() as broker, new_client(resolver=names) as client:
            broker.handle = answer_any
            await client.send(broker.node._replace(host="kafka"), MetadataRequest())
            assert (names.lookups, broker.accepted) == (1, 1)

    run(test())


def test_two_addresses_and_both_are_dead() -> None:
    async def test() -> None:
        names = Names("127.0.0.2", "127.0.0.3")
        async with new_client(resolver=names) as client:
            node = Node(1, "kafka", refused_port())
            with pytest.raises(NetworkError, match=r"127\.0\.0\.3"):
                await client.send(node, MetadataRequest())
            assert names.lookups == 1

    run(test())


def test_a_setup_that_never_ends() -> None:
    """A full backlog: the connection is not refused, but it never comes."""

    async def test() -> None:
        with socket.socket() as full, socket.socket() as filler:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            filler.connect(full.getsockname())
            config = replace(QUICK, socket_connection_setup_timeout_ms=5, socket_connection_setup_timeout_max_ms=5)
            extra = socket.socket()
            extra.setblocking(False)
            extra.connect_ex(full.getsockname())
            async with new_client(config) as client:
                node = Node(1, *full.getsockname())
                with pytest.raises(NetworkError, match=r"not set up within|due to|was not"):
                    await client.send(node, MetadataRequest(), timeout_ms=10_000)
            extra.close()

    run(test())


def test_least_loaded_node_prefers_what_is_connected_and_avoids_what_failed() -> None:
    async def test() -> None:
        async with ScriptedBroker(node_id=1) as first, ScriptedBroker(node_id=2) as second:
            config = replace(QUICK, reconnect_backoff_ms=60_000, reconnect_backoff_max_ms=60_000)
            async with new_client(config) as client:
                dead = Node(3, "127.0.0.1", refused_port())
                with pytest.raises(NetworkError):
                    await client.connect(dead)
                nodes = [first.node, second.node, dead]
                assert client.least_loaded_node([dead]) is None
                assert {client.least_loaded_node(nodes) for _ in range(20)} == {first.node, second.node}
                await client.connect(first.node)
                assert {client.least_loaded_node(nodes) for _ in range(20)} == {first.node}
                await client.connect(second.node)
                busy = client.send(first.node, MetadataRequest())
                assert {client.least_loaded_node(nodes) for _ in range(20)} == {second.node}
                answer_any(await first.next_request())
                await busy

    run(test())


def test_a_node_that_has_moved_is_followed() -> None:
    async def test() -> None:
        async with ScriptedBroker() as old, ScriptedBroker() as new, new_client() as client:
            left_behind = client.send(old.node, MetadataRequest())
            await old.next_request()
            new.handle = answer_any
            await client.send(new.node, MetadataRequest())
            with pytest.raises(NetworkError, match="has moved"):
                await left_behind

    run(test())


@pytest.mark.parametrize("after", ["at once", "connecting", "checking", "ready"])
def test_disconnect_at_any_moment(after: str) -> None:
    async def test() -> None:
        async with ScriptedBroker(answers_api_versions=after == "ready") as broker, new_client() as client:
            answer = client.send(broker.node, MetadataRequest())
            if after == "connecting":
                await asyncio.sleep(0)
                assert client.connection_state(broker.node) is ConnectionState.CONNECTING
            elif after in ("checking", "ready"):
                await broker.next_request()
            client.disconnect(broker.node.id)
            with pytest.raises(NetworkError, match="on request"):
                await answer
            broker.answers_api_versions = True
            broker.handle = answer_any
            await client.send(broker.node, MetadataRequest())

    run(test())


def test_close_fails_what_is_under_way_and_refuses_more() -> None:
    async def test() -> None:
        async with ScriptedBroker() as broker, new_client() as client:
            ready = client.send(broker.node, MetadataRequest())
            await broker.next_request()
            connecting = client.send(broker.node._replace(id=2), MetadataRequest())
            await client.close()
            for answer in (ready, connecting):
                with pytest.raises(NetworkError, match="client was closed"):
                    await answer
            with pytest.raises(NetworkError, match="client is closed"):
                client.send(broker.node, MetadataRequest())
        assert [task for task in asyncio.all_tasks() if "_establish" in repr(task)] == []

    run(test())


class Password:
    """One exchange, and a session of a given length; ``refused`` makes it fail."""

    def __init__(self, lifetime_ms: int | None = None) -> None:
        self.lifetime_ms = lifetime_ms
        self.refused = False
        self.sessions = 0
        self.told: list[bool] = []
        """At each call, whether it was said what the node speaks."""

    async def authenticate(self, exchange: Exchange, api_versions: NodeApiVersions | None) -> int | None:
        self.told.append(api_versions is not None)
        response: Message = await exchange(SaslHandshakeRequest(mechanism="TEST"), 1)
        assert isinstance(response, SaslHandshakeResponse)
        if self.refused:
            raise AuthenticationError("wrong password")
        self.sessions += 1
        return self.lifetime_ms


def test_authentication_comes_before_everything_else() -> None:
    async def test() -> None:
        password = Password()
        async with ScriptedBroker() as broker, new_client(authenticator=password) as client:
            answer = client.send(broker.node, MetadataRequest())
            received = await broker.next_request()
            assert received.header.api_key is ApiKey.SASL_HANDSHAKE
            assert client.connection_state(broker.node) is ConnectionState.CONNECTING
            assert not broker.api_versions_requests
            answer_any(received)
            answer_any(await broker.next_request())
            await answer
            assert password.sessions == 1

    run(test())


def test_a_refused_authentication_fails_at_once_and_may_be_tried_again() -> None:
    async def test() -> None:
        password = Password()
        password.refused = True
        names = Names("127.0.0.1", "127.0.0.1")
        async with ScriptedBroker() as broker, new_client(authenticator=password, resolver=names) as client:
            broker.handle = answer_any
            with pytest.raises(AuthenticationError, match="wrong password") as caught:
                await client.send(broker.node, MetadataRequest())
            assert not caught.value.retriable
            assert client.connection_state(broker.node) is ConnectionState.AUTHENTICATION_FAILED
            assert broker.accepted == 1
            password.refused = False
            await client.send(broker.node, MetadataRequest())

    run(test())


def test_a_session_is_renewed_before_it_ends_behind_what_is_in_flight() -> None:
    async def test() -> None:
        clock = ManualClock()
        password = Password(lifetime_ms=1_000)
        async with ScriptedBroker() as broker, new_client(authenticator=password, clock=clock) as client:
            before = client.send(broker.node, MetadataRequest())
            answer_any(await broker.next_request())
            in_flight = await broker.next_request()
            clock.advance_ms(950)
            after = [client.send(broker.node, MetadataRequest()) for _ in range(2)]
            renewal = await broker.next_request()
            assert renewal.header.api_key is ApiKey.SASL_HANDSHAKE
            assert broker.received.empty()
            answer_any(in_flight)
            answer_any(renewal)
            for received in await broker.next_requests(2):
                assert received.header.api_key is ApiKey.METADATA
                answer_any(received)
            await asyncio.gather(before, *after)
            assert (password.sessions, broker.accepted) == (2, 1)
            assert password.told == [False, True]
            clock.advance_ms(950)
            password.refused = True
            broker.handle = answer_any
            with pytest.raises(AuthenticationError):
                await client.send(broker.node, MetadataRequest())
            assert client.connection_state(broker.node) is ConnectionState.AUTHENTICATION_FAILED

    run(test())


def test_sessions_are_renewed_at_85_to_95_percent() -> None:

    delays = {reauthentication_delay_ms(100_000, Random(seed)) for seed in range(100)}
    assert 85_000 <= min(delays) < 86_500
    assert 93_500 < max(delays) <= 95_000


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost that signs itself, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    directory = tmp_path_factory.mktemp("tls")
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    files = ("-keyout", str(key), "-out", str(certificate))
    command = [openssl, "req", "-x509", "-nodes", *curve, *files, *names, "-days", "2"]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


def test_tls(certificate: tuple[Path, Path]) -> None:
    """A server that is trusted is spoken to; one that is not, or that does not speak TLS, is refused."""
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(*certificate)
    trusting = partial(ssl.create_default_context, cafile=str(certificate[0]))
    names = Names("127.0.0.1")

    async def test() -> None:
        async with ScriptedBroker(tls_context=server_context) as broker:
            node = broker.node._replace(host="localhost")
            broker.handle = answer_large
            async with new_client(tls_context=trusting, resolver=names) as client:
                answers = [client.send(node, MetadataRequest()) for _ in range(20)]
                assert {len((await answer).topics) for answer in answers} == {20}
            async with new_client(tls_context=ssl.create_default_context, resolver=names) as client:
                with pytest.raises(AuthenticationError, match="SSL handshake"):
                    await client.send(node, MetadataRequest())
                assert client.connection_state(node) is ConnectionState.AUTHENTICATION_FAILED
        async with ScriptedBroker() as plain:
            hasty = replace(QUICK, socket_connection_setup_timeout_ms=20, socket_connection_setup_timeout_max_ms=20)
            async with new_client(hasty, tls_context=trusting, resolver=names) as client:
                with pytest.raises(NetworkError):  # it takes the handshake for a very large request, and waits
                    await client.send(plain.node, MetadataRequest())

    run(test())


def answer_large(received: Received) -> None:
    topics = [MetadataResponseTopic(name="t" * 30_000) for _ in range(20)]
    received.answer(MetadataResponse(topics=topics))

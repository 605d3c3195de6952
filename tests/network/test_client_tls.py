"""TLS under the client: large frames, slow peers, ends in the middle, handshakes that fail or never come."""

import asyncio
import gc
import shutil
import ssl
import subprocess
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from ottla.network.client_errors import AuthenticationError, NetworkError
from ottla.network.node import Node
from ottla.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from tests.network.client_harness import QUICK, Received, ScriptedBroker, new_client, run

TOPIC = "t" * 30_000
HASTY = replace(QUICK, socket_connection_setup_timeout_ms=50, socket_connection_setup_timeout_max_ms=50)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    directory = tmp_path_factory.mktemp("tls")
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    files = ("-keyout", str(key), "-out", str(certificate))
    command = [openssl, "req", "-x509", "-nodes", *curve, *files, *names, "-days", "2"]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


@pytest.fixture
def server(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


@pytest.fixture
def trusting(certificate: tuple[Path, Path]) -> Callable[[], ssl.SSLContext]:
    return partial(ssl.create_default_context, cafile=str(certificate[0]))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_frames_larger_than_any_buffer_both_ways(
    server: ssl.SSLContext, trusting: Callable[[], ssl.SSLContext], version: ssl.TLSVersion
) -> None:
    """Several at once, of sizes around the receive buffer's and far beyond; each answer has what its request had."""
    server.minimum_version = server.maximum_version = version

    def echo(received: Received) -> None:
        assert isinstance(received.body, MetadataRequest)
        topics = [MetadataResponseTopic(name=topic.name) for topic in received.body.topics or ()]
        received.answer(MetadataResponse(topics=topics))

    async def test() -> None:
        async with ScriptedBroker(tls_context=server) as broker, new_client(tls_context=trusting) as client:
            broker.handle = echo
            counts = (1, 300, 8, 9, 10, 0, 100, 17, 18, 1)
            asked = [[MetadataRequestTopic(name=f"{n}{TOPIC}") for n in range(count)] for count in counts]
            answers = [client.send(broker.node, MetadataRequest(topics=topics)) for topics in asked]
            for topics, answer in zip(asked, answers, strict=True):
                got = [topic.name for topic in (await answer).topics]
                assert got == [topic.name for topic in topics]
            assert broker.accepted == 1

    run(test())


def test_a_node_that_does_not_read_holds_the_client_back(
    server: ssl.SSLContext, trusting: Callable[[], ssl.SSLContext]
) -> None:
    """Requests wait for their turn rather than pile up in the transport, and go out when it reads again."""

    async def test() -> None:
        async with ScriptedBroker(tls_context=server) as broker, new_client(tls_context=trusting) as client:
            await client.connect(broker.node)
            for writer in broker.writers:
                assert isinstance(writer.transport, asyncio.Transport)
                writer.transport.pause_reading()
            topics = [MetadataRequestTopic(name=TOPIC) for _ in range(200)]
            answers = [client.send(broker.node, MetadataRequest(topics=topics)) for _ in range(5)]
            assert client.in_flight_count(broker.node) < len(answers)
            for writer in broker.writers:
                assert isinstance(writer.transport, asyncio.Transport)
                writer.transport.resume_reading()
            for _ in answers:
                (await broker.next_request()).answer(MetadataResponse())
            await asyncio.gather(*answers)

    run(test())


def test_the_end_of_a_connection_in_the_middle_of_an_answer(
    server: ssl.SSLContext, trusting: Callable[[], ssl.SSLContext]
) -> None:
    """With a proper end of TLS and without."""

    async def test(abort: bool) -> None:
        async with ScriptedBroker(tls_context=server) as broker, new_client(tls_context=trusting) as client:
            answer = client.send(broker.node, MetadataRequest())
            received = await broker.next_request()
            received.writer.write((1_000_000).to_bytes(4, "big") + bytes(400_000))
            await received.writer.drain()
            if abort:
                received.writer.transport.abort()
            else:
                received.writer.close()
            with pytest.raises(NetworkError, match="closed before the response was read"):
                await answer
            broker.handle = lambda again: again.answer(MetadataResponse())
            await client.send(broker.node, MetadataRequest())

    run(test(False))
    run(test(True))


def test_a_handshake_that_never_ends_is_bounded_and_leaves_nothing_open(
    trusting: Callable[[], ssl.SSLContext],
) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def test() -> None:
        listening = await asyncio.start_server(silent, "127.0.0.1", 0)
        node = Node(1, "127.0.0.1", listening.sockets[0].getsockname()[1])
        async with listening, new_client(HASTY, tls_context=trusting) as client:
            with pytest.raises(NetworkError, match="was not set up within"):
                await client.send(node, MetadataRequest())

    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        run(test())
        gc.collect()


def test_what_failed_is_said(
    server: ssl.SSLContext, trusting: Callable[[], ssl.SSLContext], certificate: tuple[Path, Path]
) -> None:
    async def test() -> None:
        async with ScriptedBroker(tls_context=server) as broker:
            async with new_client(tls_context=ssl.create_default_context) as client:
                with pytest.raises(AuthenticationError, match="signed by itself and not trusted"):
                    await client.send(broker.node, MetadataRequest())
            async with new_client() as client:
                with pytest.raises(NetworkError, match=r"another security\.protocol|speaks TLS"):
                    await client.send(broker.node, MetadataRequest())
        server.verify_mode = ssl.CERT_REQUIRED
        server.load_verify_locations(str(certificate[0]))
        async with ScriptedBroker(tls_context=server) as broker, new_client(tls_context=trusting) as client:
            with pytest.raises(NetworkError, match="a certificate of ours"):  # asyncio's servers do not say why
                await client.send(broker.node, MetadataRequest())

    run(test())


def test_a_port_that_speaks_something_else(trusting: Callable[[], ssl.SSLContext]) -> None:
    async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.close()

    async def resetting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.transport.abort()

    async def test() -> None:
        for behaviour, error, message in (
            (resetting, NetworkError, "may not speak TLS on this port"),
            (http, AuthenticationError, "does not speak TLS on this port"),
            (closing, NetworkError, "may not speak TLS on this port"),
        ):
            listening = await asyncio.start_server(behaviour, "127.0.0.1", 0)
            node = Node(1, "127.0.0.1", listening.sockets[0].getsockname()[1])
            async with listening, new_client(tls_context=trusting) as client:
                with pytest.raises(error, match=message):
                    await client.send(node, MetadataRequest())

    run(test())


def test_a_complaint_of_tls_is_understood_without_tls() -> None:
    """It would pass for the size of a very large answer, which never comes."""

    async def complaining(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"\x15\x03\x03\x00\x02\x02\x50")
        await reader.read()
        writer.close()

    async def test() -> None:
        listening = await asyncio.start_server(complaining, "127.0.0.1", 0)
        node = Node(1, "127.0.0.1", listening.sockets[0].getsockname()[1])
        async with listening, new_client() as client:
            with pytest.raises(NetworkError, match="speaks TLS on this port"):
                await client.send(node, MetadataRequest())

    run(test())

"""What no correct client sends: a closed connection and a line in the log; other clients are undisturbed."""

import logging
import struct

import pytest

from ottla.network.request import Request
from tests.network.server_harness import Echo, Parking, Server, answer, request_frame

CASES = {
    "a negative size": (struct.pack(">i", -1) + b"x" * 10, "Invalid receive (size = -1)"),
    "the most negative size": (struct.pack(">i", -(2**31)), "Invalid receive (size = -2147483648)"),
    "an oversized frame": (struct.pack(">i", 1001), "Invalid receive (size = 1001 larger than 1000)"),
    "a size of zero": (struct.pack(">i", 0), "has no room for a header"),
    "a frame shorter than a header": (struct.pack(">i", 5) + b"\0\3\0\4\0", "has no room for a header"),
    "a client id beyond the frame": (
        struct.pack(">ihhih", 12, 3, 4, 1, 500) + b"ab",
        "a client id of 500 bytes in a request of 12",
    ),
    "a client id of a negative length": (struct.pack(">ihhih", 12, 3, 4, 1, -2) + b"ab", "a client id of -2 bytes"),
    "a client id that is no text": (struct.pack(">ihhih", 12, 3, 4, 1, 2) + b"\xff\xfe", "no UTF-8"),
    "tagged fields beyond the frame": (
        struct.pack(">ihhih", 14, 3, 12, 1, -1) + b"\x02\x01\xff\x7f",
        "tagged fields of a request header end early",
    ),
    "an unknown api": (request_frame(1, api_key=999), "unknown api key 999"),
    "HTTP": (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "look like HTTP"),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "look like HTTP"),
    "TLS": (bytes.fromhex("16030100c8010000c40303") + b"x" * 190, "look like TLS"),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_frame_closes_its_channel_only(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Seed 004, failure mode: the processor closes just that channel and keeps serving others."""
    data, message = CASES[name]
    with Server(socket_request_max_bytes=1000) as server, caplog.at_level(logging.WARNING):
        healthy, bad = server.connect(), server.connect()
        bad.send(data)
        server.until(bad.is_closed)
        healthy.request(1)
        assert server.response(healthy)[0] == 1
        assert len(server.channels) == 1
        assert len(server.disconnected) == 1
    (said,) = [said for record in caplog.records if "of CPU" not in (said := record.getMessage())]  # a busy machine
    assert message in said
    assert said.startswith("Closing socket for 127.0.0.1:")


def test_a_frame_of_exactly_the_largest_size_is_taken() -> None:
    frame = request_frame(1, b"x" * 100)
    with Server(socket_request_max_bytes=len(frame) - 4) as server:
        client = server.connect()
        client.send(frame)
        assert server.response(client)[0] == 1


def test_a_bad_frame_behind_good_ones() -> None:
    """The requests before it are answered, in order; then the connection is closed."""
    with Server() as server:
        client = server.connect()
        client.send(request_frame(1), request_frame(2), struct.pack(">i", -5))
        assert [server.response(client)[0] for _ in range(2)] == [1, 2]
        server.until(client.is_closed)


class SomeApis:
    def is_enabled(self, api_key: int, version: int) -> bool:
        return api_key != 1 and version <= 9


def test_disabled_api(caplog: pytest.LogCaptureFixture) -> None:
    """An API that this listener does not serve closes the connection, as in Apache."""
    with Server() as server:
        server.server.plane._is_enabled = SomeApis().is_enabled
        for data in (request_frame(1, api_key=1), request_frame(1, api_key=0, version=10)):
            client = server.connect()
            client.send(data)
            server.until(client.is_closed)
    assert "Received request for disabled api with key 1 (FETCH) and version 4" in caplog.text


def test_api_versions_with_an_unknown_version_reaches_its_handler() -> None:
    """The handler answers UNSUPPORTED_VERSION in version 0; the network must not hang up."""
    parking = Parking()
    with Server(parking) as server:
        server.server.plane._is_enabled = lambda api_key, version: False
        client = server.connect()
        client.send(request_frame(9, b"\0", api_key=18, version=300))
        server.until(lambda: bool(parking.parked))
        assert parking.parked[0].header.api_version == 300
        answer(parking.parked[0], b"v0")
        assert server.response(client) == (9, b"v0")


def test_a_handler_that_fails_closes_its_connection_only(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Echo):
        def handle(self, request: Request) -> None:
            if request.header.correlation_id == 13:
                raise ZeroDivisionError("a bug of ours")
            super().handle(request)

    with Server(Failing()) as server:
        bad, good = server.connect(), server.connect()
        bad.request(13)
        good.request(1)
        assert server.response(good)[0] == 1
        server.until(bad.is_closed)
        assert "a bug of ours" in caplog.text


def test_a_connection_that_says_nothing_and_goes() -> None:
    with Server() as server:
        client = server.connect()
        client.close()
        server.until(lambda: not server.channels)
        assert server.server.quotas.total_count == 0

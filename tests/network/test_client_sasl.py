"""SASL over requests: which are sent in which versions, and what answers mean. The mechanism is a stub's."""

import asyncio
from collections.abc import Sequence

import pytest

from ottla.network.client_errors import AuthenticationError, UnsupportedVersionError
from ottla.network.node_api_versions import NodeApiVersions
from ottla.network.sasl_authenticator import SaslAuthenticator
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.message import Message
from ottla.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from ottla.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from ottla.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from ottla.runtime.inline import InlineRuntime
from ottla.security.sasl.mechanism import SaslClient, SaslError


class Steps:
    """A mechanism of ``count`` messages of the client's; with ``hears_last`` it wants to hear the server once more."""

    mechanism = "TEST"

    def __init__(self, count: int, *, hears_last: bool = False) -> None:
        self._left = count
        self._hears_last = hears_last
        self.heard: list[bytes] = []
        self.is_complete = False

    def respond(self, challenge: bytes) -> bytes | None:
        self.heard.append(challenge)
        if challenge == b"lie":
            raise SaslError("a lie")
        if not self._left:
            self.is_complete = True
            return None
        self._left -= 1
        self.is_complete = not self._left and not self._hears_last
        return b"token%d" % self._left


def spoken(authenticate: int = 2, handshake: int = 1) -> ApiVersionsResponse:
    keys = {ApiKey.SASL_HANDSHAKE: handshake, ApiKey.SASL_AUTHENTICATE: authenticate}
    return ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=key, min_version=0, max_version=highest) for key, highest in keys.items()]
    )


def authenticate(
    client: SaslClient, answers: Sequence[Message], known: NodeApiVersions | None = None
) -> tuple[int | None, list[tuple[Message, int]]]:
    """The session's lifetime, and what was sent in which version."""
    sent: list[tuple[Message, int]] = []
    coming = iter(answers)

    async def exchange(request: Message, version: int) -> Message:
        sent.append((request, version))
        return next(coming)

    async def login() -> SaslClient:
        return client

    lifetime_ms = asyncio.run(SaslAuthenticator(login, InlineRuntime()).authenticate(exchange, known))
    assert next(coming, None) is None, "not all was asked for"
    return lifetime_ms, sent


def sent_names(sent: list[tuple[Message, int]]) -> list[tuple[str, int]]:
    return [(type(request).__name__.removesuffix("Request"), version) for request, version in sent]


def test_a_new_connection_asks_what_is_spoken_first() -> None:
    client = Steps(1)
    answers = [spoken(), SaslHandshakeResponse(), SaslAuthenticateResponse()]
    lifetime_ms, sent = authenticate(client, answers)
    assert lifetime_ms is None
    assert sent_names(sent) == [("ApiVersions", 0), ("SaslHandshake", 1), ("SaslAuthenticate", 2)]
    assert isinstance(sent[1][0], SaslHandshakeRequest)
    assert sent[1][0].mechanism == "TEST"
    assert isinstance(sent[2][0], SaslAuthenticateRequest)
    assert sent[2][0].auth_bytes == b"token0"


def test_a_proof_that_is_repeated_asks_nothing_else() -> None:
    answers = [SaslHandshakeResponse(), SaslAuthenticateResponse(session_lifetime_ms=5_000)]
    lifetime_ms, sent = authenticate(Steps(1), answers, NodeApiVersions(spoken(authenticate=1)))
    assert lifetime_ms == 5_000
    assert sent_names(sent) == [("SaslHandshake", 1), ("SaslAuthenticate", 1)]


@pytest.mark.parametrize("hears_last", [False, True])
def test_messages_go_to_and_fro_until_both_are_done(hears_last: bool) -> None:
    """A lifetime may come with any answer; what the server says last is heard by those who want to."""
    client = Steps(2, hears_last=hears_last)
    challenges = [
        SaslAuthenticateResponse(auth_bytes=b"1", session_lifetime_ms=7),
        SaslAuthenticateResponse(auth_bytes=b"2"),
    ]
    lifetime_ms, sent = authenticate(client, [spoken(), SaslHandshakeResponse(), *challenges])
    assert lifetime_ms == 7
    assert len(sent) == 4
    assert client.heard == [b"", b"1", b"2"][: 3 if hears_last else 2]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            SaslHandshakeResponse(error_code=33, mechanisms=["A", "B"]),
            "TEST is not enabled in the broker; enabled are: A, B",
        ),
        (SaslHandshakeResponse(error_code=34), "does not authenticate by SASL"),
        (SaslHandshakeResponse(error_code=-1), "error code -1"),
    ],
)
def test_a_handshake_that_is_refused(answer: Message, said: str) -> None:
    with pytest.raises(AuthenticationError, match=said):
        authenticate(Steps(1), [spoken(), answer])


def test_the_nodes_own_words() -> None:
    for message, said in (("no such user", "^no such user$"), (None, "TEST was refused with error code 58")):
        refusal = SaslAuthenticateResponse(error_code=58, error_message=message)
        with pytest.raises(AuthenticationError, match=said):
            authenticate(Steps(2), [spoken(), SaslHandshakeResponse(), refusal])


def test_a_server_that_lies_and_one_too_old() -> None:
    with pytest.raises(AuthenticationError, match="a lie"):
        authenticate(Steps(2), [spoken(), SaslHandshakeResponse(), SaslAuthenticateResponse(auth_bytes=b"lie")])
    with pytest.raises(UnsupportedVersionError, match="SaslAuthenticate"):
        authenticate(Steps(1), [ApiVersionsResponse(api_keys=spoken().api_keys[:1]), SaslHandshakeResponse()])

"""Where bearer tokens come from, how long one is used, and what happens when none comes."""

import asyncio
import base64
import json
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ottla.clients.security.bearer_login import TokenCache, bearer_login
from ottla.common.errors import InvalidConfigError, KafkaError
from ottla.config.client_configs import AdminConfig
from ottla.network.client_errors import AuthenticationError, NetworkError
from ottla.runtime.inline import ManualClock
from ottla.runtime.live import AsyncioRuntime
from ottla.security.sasl.bearer_token import OAuthBearerToken
from ottla.security.sasl.token_refresh import TokenRefresh
from ottla.security.sasl.unsecured_jwt import unsecured_token
from tests.clients.security.certificates import Authority
from tests.clients.security.token_server import token_server

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
JWT = unsecured_token({"unsecuredLoginStringClaim_sub": "alice"}, NOW_MS).value
GIVEN = (200, json.dumps({"access_token": JWT, "token_type": "Bearer", "expires_in": 3600}).encode())
CREDENTIALS = {
    "sasl.oauthbearer.client.credentials.client.id": "id",
    "sasl.oauthbearer.client.credentials.client.secret": "secret",
    "sasl.login.retry.backoff.ms": 1,
    "sasl.login.retry.backoff.max.ms": 50,
}


def run(test: Callable[[AsyncioRuntime, ManualClock], Coroutine[Any, Any, None]]) -> None:
    async def wrapped() -> None:
        clock = ManualClock(NOW_MS)
        runtime = AsyncioRuntime(clock=clock, rng=Random(7), blocking_threads=2)
        await test(runtime, clock)
        runtime.close()

    asyncio.run(asyncio.wait_for(wrapped(), 20))


def login(keys: Mapping[str, object], options: Mapping[str, str] | None = None) -> bytes:
    """The message that a login with these keys and JAAS options would send."""
    messages = []

    async def test() -> None:
        clock = _TimeThatPasses(NOW_MS)
        runtime = AsyncioRuntime(clock=clock, rng=Random(7), blocking_threads=1)
        config = AdminConfig.parse({"bootstrap.servers": "localhost:9", **keys}).common
        client = await bearer_login(config, options or {}, runtime, None)()
        messages.append(client.respond(b"") or b"")
        runtime.close()

    asyncio.run(asyncio.wait_for(test(), 20))
    return messages[0]


class _TimeThatPasses(ManualClock):
    """Ten milliseconds at each look, so that retries come to an end without waiting."""

    def monotonic_ms(self) -> int:
        self.advance_ms(10)
        return super().monotonic_ms()


class Source:
    """Tokens of an hour, numbered; ``error`` is raised instead if it is set."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.fetched = 0
        self.error: KafkaError | None = None
        self.gate: Awaitable[object] | None = None

    async def __call__(self) -> OAuthBearerToken:
        self.fetched += 1
        if self.gate is not None:
            await self.gate
        if self.error is not None:
            raise self.error
        now_ms = self._clock.now_ms()
        return OAuthBearerToken(f"t{self.fetched}", now_ms + HOUR_MS, "alice", now_ms)


def test_a_token_is_used_until_it_is_due_and_refreshed_before_it_ends() -> None:
    async def test(runtime: AsyncioRuntime, clock: ManualClock) -> None:
        source = Source(clock)
        cache = TokenCache(source, TokenRefresh(), runtime)
        assert [(await cache.token()).value for _ in range(3)] == ["t1"] * 3
        clock.advance_ms(int(HOUR_MS * 0.79))
        assert (await cache.token()).value == "t1"
        clock.advance_ms(int(HOUR_MS * 0.07))
        assert (await cache.token()).value == "t2"
        assert source.fetched == 2

    run(test)


def test_a_refresh_that_fails_leaves_the_old_token_until_it_ends() -> None:
    async def test(runtime: AsyncioRuntime, clock: ManualClock) -> None:
        source = Source(clock)
        cache = TokenCache(source, TokenRefresh(), runtime)
        await cache.token()
        source.error = NetworkError("no way")
        clock.advance_ms(int(HOUR_MS * 0.9))
        assert (await cache.token()).value == "t1"
        clock.advance_ms(int(HOUR_MS * 0.11))
        with pytest.raises(NetworkError, match="no way"):
            await cache.token()
        source.error = None
        assert (await cache.token()).value == "t4"

    run(test)


def test_those_who_ask_at_once_share_a_fetch_and_none_is_lost_with_one_who_leaves() -> None:
    async def test(runtime: AsyncioRuntime, clock: ManualClock) -> None:
        source = Source(clock)
        source.gate = gate = asyncio.get_running_loop().create_future()
        cache = TokenCache(source, TokenRefresh(), runtime)
        asking = [asyncio.ensure_future(cache.token()) for _ in range(3)]
        await asyncio.sleep(0)
        asking[0].cancel()
        await asyncio.sleep(0)
        gate.set_result(None)
        assert {(await each).value for each in asking[1:]} == {"t1"}
        assert source.fetched == 1

    run(test)


def test_a_token_that_has_ended_already_is_not_shown() -> None:
    async def test(runtime: AsyncioRuntime, clock: ManualClock) -> None:
        async def late() -> OAuthBearerToken:
            return OAuthBearerToken("t", NOW_MS - 1)

        with pytest.raises(AuthenticationError, match="compare the clocks"):
            await TokenCache(late, TokenRefresh(), runtime).token()

    run(test)


def test_the_client_credentials_grant() -> None:
    with token_server(GIVEN) as server:
        keys = {**CREDENTIALS, "sasl.oauthbearer.token.endpoint.url": server.url, "sasl.oauthbearer.scope": "kafka"}
        message = login(keys, {"extension_team": "red"})
    assert message == f"n,,\x01auth=Bearer {JWT}\x01team=red\x01\x01".encode()
    assert server.asked == [
        (
            "/token?tenant=1",
            f"Basic {base64.b64encode(b'id:secret').decode()}",
            b"grant_type=client_credentials&scope=kafka",
        )
    ]


def test_id_and_secret_may_stand_in_the_jaas_options_and_failures_that_pass_are_tried_again() -> None:
    with token_server((503, b""), (500, b"oops"), GIVEN) as server:
        keys = {"sasl.oauthbearer.token.endpoint.url": server.url, "sasl.login.retry.backoff.ms": 1}
        assert JWT.encode() in login(keys, {"clientId": "id", "clientSecret": "secret", "scope": "s"})
    assert len(server.asked) == 3
    assert server.asked[0].body == b"grant_type=client_credentials&scope=s"


def test_what_an_endpoint_refuses_for_good_is_asked_once() -> None:
    with token_server((401, b'{"error": "invalid_client", "error_description": "who?"}')) as server:
        keys = {**CREDENTIALS, "sasl.oauthbearer.token.endpoint.url": server.url}
        with pytest.raises(AuthenticationError, match=r"401 \(invalid_client: who\?\)"):
            login(keys)
    assert len(server.asked) == 1
    with (
        token_server((200, b'{"access_token": "opaque"}')) as server,
        pytest.raises(AuthenticationError, match="no JWT"),
    ):
        login({**keys, "sasl.oauthbearer.token.endpoint.url": server.url})


def test_an_endpoint_that_cannot_be_reached_or_goes_on_failing() -> None:
    with token_server((500, b"")) as server:
        keys = {**CREDENTIALS, "sasl.oauthbearer.token.endpoint.url": server.url}
        with pytest.raises(NetworkError, match=r"No token could be fetched from http://127\.0\.0\.1:.*answered 500"):
            login(keys)
        assert len(server.asked) > 1
    with pytest.raises(NetworkError, match="No token could be fetched"):
        login(keys)  # now nobody listens there


def test_an_endpoint_under_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate = authority.sign("endpoint")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.store)
    with token_server(GIVEN, tls=context) as server:
        keys = {**CREDENTIALS, "sasl.oauthbearer.token.endpoint.url": server.url}
        assert JWT.encode() in login(keys, {"ssl.truststore.location": str(authority.certificate)})
        with pytest.raises(NetworkError, match="CERTIFICATE_VERIFY_FAILED"):
            login(keys)


def test_a_file_that_somebody_keeps_fresh(tmp_path: Path) -> None:
    path = tmp_path / "a token"
    path.write_text(f"{JWT}\n")
    assert JWT.encode() in login({"sasl.oauthbearer.token.endpoint.url": path.as_uri()})
    path.unlink()
    with pytest.raises(NetworkError, match="cannot be read"):
        login({"sasl.oauthbearer.token.endpoint.url": path.as_uri()})


@pytest.mark.parametrize(
    ("keys", "options", "complaint"),
    [
        ({}, {}, "needs tokens"),
        ({}, {"unsecuredLoginExtension_a": "b"}, "needs tokens"),
        ({}, {"unsecuredLoginNumberClaim_a": "1"}, "make no token"),
        ({"sasl.oauthbearer.token.endpoint.url": "ftp://x"}, {}, "https, http or file"),
        ({"sasl.oauthbearer.token.endpoint.url": "https://x"}, {"clientId": "a"}, "clientSecret"),
    ],
)
def test_keys_that_say_too_little(keys: dict[str, object], options: dict[str, str], complaint: str) -> None:
    with pytest.raises(InvalidConfigError, match=complaint):
        login(keys, options)


def test_providers_of_every_kind() -> None:
    async def asked() -> str:
        return JWT

    def broken() -> str:
        raise ValueError("vault is sealed")

    async def test(runtime: AsyncioRuntime, clock: ManualClock) -> None:
        config = AdminConfig.parse({"bootstrap.servers": "localhost:9"}).common
        for provider in (asked, lambda: JWT, lambda: OAuthBearerToken(JWT, NOW_MS + 1)):
            client = await bearer_login(config, {}, runtime, provider)()
            assert JWT.encode() in (client.respond(b"") or b"")
        with pytest.raises(AuthenticationError, match=r"provider failed: ValueError.'vault is sealed'"):
            await bearer_login(config, {}, runtime, broken)()
        with pytest.raises(AuthenticationError, match="gave int"):
            await bearer_login(config, {}, runtime, lambda: 5)()  # type: ignore[arg-type, return-value]

    run(test)

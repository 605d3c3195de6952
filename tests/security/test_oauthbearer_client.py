"""OAUTHBEARER: the message, refusals, tokens and when they are refreshed."""

import base64
import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.errors import InvalidConfigError
from ottla.security.sasl.bearer_token import OAuthBearerToken, parse_jwt
from ottla.security.sasl.mechanism import SaslError
from ottla.security.sasl.oauthbearer import OAuthBearerClient
from ottla.security.sasl.token_refresh import TokenRefresh
from ottla.security.sasl.token_request import TokenEndpointError, client_credentials_request, parse_token_response
from ottla.security.sasl.unsecured_jwt import is_unsecured_login, unsecured_extensions, unsecured_token

NOW_MS = 1_700_000_000_000


def jwt(claims: object) -> str:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{payload}.c2ln"


def test_the_message_of_the_rfc() -> None:
    client = OAuthBearerClient(
        "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==", {"host": "server.example.com", "port": "143"}
    )
    assert client.respond(b"") == (
        b"n,,\x01auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01host=server.example.com\x01port=143\x01\x01"
    )
    assert client.respond(b"") is None
    assert client.is_complete


def test_a_refusal_is_acknowledged_and_remembered() -> None:
    client = OAuthBearerClient("t")
    client.respond(b"")
    assert client.respond(b'{"status":"invalid_token","scope":"x"}') == b"\x01"
    assert client.refusal == "invalid_token"
    assert not client.is_complete
    with pytest.raises(SaslError, match="invalid_token"):
        client.respond(b"")
    assert not client.is_complete


@given(st.binary(min_size=1))
def test_anything_but_silence_is_a_refusal(challenge: bytes) -> None:
    client = OAuthBearerClient("t")
    client.respond(b"")
    assert client.respond(challenge) == b"\x01"
    assert not client.is_complete


@pytest.mark.parametrize(
    ("token", "extensions"),
    [
        ("", {}),
        ("a b", {}),
        ("a\x01b", {}),
        ("t", {"auth": "x"}),
        ("t", {"a_b": "x"}),
        ("t", {"a": ""}),
        ("t", {"a": "\x01"}),
    ],
)
def test_what_cannot_be_sent(token: str, extensions: dict[str, str]) -> None:
    with pytest.raises(SaslError):
        OAuthBearerClient(token, extensions)


def test_a_jwt_is_read() -> None:
    token = parse_jwt(jwt({"sub": " alice ", "exp": 1700003600, "iat": 1700000000.5, "scope": "a b"}))
    assert token.principal_name == "alice"
    assert (token.expires_at_ms, token.issued_at_ms) == (1_700_003_600_000, 1_700_000_000_500)
    assert token.scope == {"a", "b"}
    assert token.value not in repr(token)
    assert parse_jwt(jwt({"id": "bob", "exp": 1, "roles": ["x"]}), subject_claim="id", scope_claim="roles").scope == {
        "x"
    }


@pytest.mark.parametrize(
    "value",
    [
        "",
        "a.b",
        "a.!.c",
        "e30.W10.",
        jwt({"exp": 1}),
        jwt({"sub": "a"}),
        jwt({"sub": "a", "exp": "soon"}),
        jwt({"sub": 1}),
    ],
)
def test_what_is_no_jwt(value: str) -> None:
    with pytest.raises(SaslError, match="JWT"):
        parse_jwt(value)


def test_a_token_that_nobody_signs() -> None:
    options = {
        "unsecuredLoginStringClaim_sub": "alice",
        "unsecuredLoginNumberClaim_n": "1.5",
        "unsecuredLoginListClaim_scope": "|a|b",
        "unsecuredLoginLifetimeSeconds": "60",
        "unsecuredLoginExtension_team": "red",
    }
    assert is_unsecured_login(options)
    assert not is_unsecured_login({"unsecuredLoginExtension_team": "red"})
    assert unsecured_extensions(options) == {"team": "red"}
    token = unsecured_token(options, NOW_MS)
    assert token.principal_name == "alice"
    assert token.scope == {"a", "b"}
    assert token.expires_at_ms == NOW_MS + 60_000
    assert token.value.endswith(".")


@pytest.mark.parametrize(
    "options",
    [
        {"unsecuredLoginLifetimeSeconds": "60"},
        {"unsecuredLoginStringClaim_sub": "a", "unsecuredLoginLifetimeSeconds": "long"},
        {"unsecuredLoginStringClaim_sub": "a", "unsecuredLoginNumberClaim_exp": "1"},
        {"unsecuredLoginStringClaim_sub": "a", "unsecuredLoginNumberClaim_n": "one"},
    ],
)
def test_options_that_make_no_token(options: dict[str, str]) -> None:
    with pytest.raises(InvalidConfigError, match="unsecuredLogin"):
        unsecured_token(options, NOW_MS)


@given(st.integers(1, 10**9), st.integers(0, 10**9), st.integers(0, 900), st.integers(0, 3600), st.integers(0, 100))
def test_a_refresh_lies_between_now_and_the_end(
    lifetime_ms: int, age_ms: int, min_period_s: int, buffer_s: int, seed: int
) -> None:
    """And within the bounds, wherever there is room for both."""
    refresh = TokenRefresh(min_period_seconds=min_period_s, buffer_seconds=buffer_s)
    token = OAuthBearerToken("t", NOW_MS + lifetime_ms, issued_at_ms=NOW_MS - age_ms)
    at_ms = refresh.refresh_at_ms(token, NOW_MS, Random(seed))
    assert at_ms is not None
    assert NOW_MS <= at_ms <= NOW_MS + lifetime_ms
    if 1000 * (min_period_s + buffer_s) <= lifetime_ms:
        assert NOW_MS + 1000 * min_period_s <= at_ms <= NOW_MS + lifetime_ms - 1000 * buffer_s


def test_the_usual_refresh() -> None:
    hour = OAuthBearerToken("t", NOW_MS + 3_600_000, issued_at_ms=NOW_MS)
    shares = [(TokenRefresh().refresh_at_ms(hour, NOW_MS, Random(seed)) or 0) - NOW_MS for seed in range(100)]
    assert 0.80 * 3_600_000 <= min(shares) < 0.805 * 3_600_000
    assert 0.845 * 3_600_000 < max(shares) <= 0.85 * 3_600_000
    assert TokenRefresh().refresh_at_ms(OAuthBearerToken("t"), NOW_MS, Random(0)) is None


def test_a_token_is_asked_for_and_found() -> None:
    request = client_credentials_request(" id ", "se cret", "read", urlencode=True)
    assert base64.b64decode(request.headers["Authorization"].removeprefix("Basic ")) == b"id:se+cret"
    assert request.body == b"grant_type=client_credentials&scope=read"
    assert client_credentials_request("id", "s").body == b"grant_type=client_credentials"
    for id_and_secret in (("id", None), (None, "s"), (" ", "s")):
        with pytest.raises(InvalidConfigError, match=r"client\.id"):
            client_credentials_request(*id_and_secret)
    assert parse_token_response(200, b'{"access_token": " t "}') == "t"
    assert parse_token_response(201, b'{"id_token": "t"}') == "t"


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (200, b"{}", SaslError),
        (200, b"garbage", SaslError),
        (401, b'{"error": "invalid_client", "error_description": "no such client"}', SaslError),
        (404, b"<html>", SaslError),
        (500, b"", TokenEndpointError),
        (429, b"[]", TokenEndpointError),
    ],
)
def test_answers_without_a_token(status: int, body: bytes, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        parse_token_response(status, body)
    if status == 401:
        assert str(caught.value) == "The token endpoint answered 401 (invalid_client: no such client)"

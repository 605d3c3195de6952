"""Every way to be safe, against Apache Kafka: it works, or it fails at once with one sentence that says why."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from ottla.clients.security import TokenProvider, client_security
from ottla.common.errors import KafkaError
from ottla.config.client_configs import AdminConfig
from ottla.network.authenticator import Authenticator, Exchange
from ottla.network.client_config import NetworkClientConfig
from ottla.network.client_errors import AuthenticationError, NetworkError
from ottla.network.network_client import NetworkClient
from ottla.network.node import Node
from ottla.network.node_api_versions import NodeApiVersions
from ottla.protocol.messages.metadata import MetadataRequest, MetadataResponse
from ottla.runtime.live import AsyncioRuntime
from ottla.security.sasl.bearer_token import OAuthBearerToken
from ottla.security.sasl.unsecured_jwt import unsecured_token
from tests.clients.security.certificates import KEY_PASSWORD, Authority
from tests.clients.security.secured_broker import PASSWORD, REAUTH_MS, SecuredBroker

PATIENCE_S = 30
NETWORK = NetworkClientConfig(request_timeout_ms=10_000)
MODULES = "org.apache.kafka.common.security"
UNSECURED = f'{MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";'
LOGINS = {
    "PLAIN": f'{MODULES}.plain.PlainLoginModule required username="alice" password="{PASSWORD}";',
    "SCRAM-SHA-256": f'{MODULES}.scram.ScramLoginModule required username="alice" password="{PASSWORD}";',
    "SCRAM-SHA-512": f'{MODULES}.scram.ScramLoginModule required username="alice" password="{PASSWORD}";',
    "OAUTHBEARER": UNSECURED,
}


class Counted:
    """An authenticator that counts."""

    def __init__(self, inner: Authenticator) -> None:
        self._inner = inner
        self.proofs = 0

    async def authenticate(self, exchange: Exchange, api_versions: NodeApiVersions | None) -> int | None:
        lifetime_ms = await self._inner.authenticate(exchange, api_versions)
        self.proofs += 1
        return lifetime_ms


@asynccontextmanager
async def new_client(
    props: Mapping[str, object], provider: TokenProvider | None = None
) -> AsyncIterator[tuple[NetworkClient, Counted]]:
    runtime = AsyncioRuntime(rng=Random(7), blocking_threads=1)
    config = AdminConfig.parse({"bootstrap.servers": "localhost:9", **props}).common
    security = client_security(config, runtime, provider)
    authenticator = Counted(security.authenticator)
    async with NetworkClient(
        runtime, "ottla-test", NETWORK, authenticator=authenticator, tls_context=security.tls_context
    ) as client:
        yield client, authenticator
    runtime.close()


def ask(
    secured: SecuredBroker,
    listener: str,
    props: Mapping[str, object],
    provider: TokenProvider | None = None,
    host: str = "localhost",
) -> MetadataResponse:
    """The cluster's metadata as this listener tells it."""

    async def test() -> MetadataResponse:
        async with new_client(props, provider) as (client, _authenticator):
            response = await client.send(Node(-1, host, secured.ports[listener]), MetadataRequest(topics=None))
            assert isinstance(response, MetadataResponse)
            return response

    response = asyncio.run(asyncio.wait_for(test(), PATIENCE_S))
    assert [broker.port for broker in response.brokers] == [secured.ports[listener]]
    return response


def refused(
    secured: SecuredBroker,
    listener: str,
    props: Mapping[str, object],
    error: type[KafkaError] = AuthenticationError,
    provider: TokenProvider | None = None,
    host: str = "localhost",
) -> str:
    """What the client is told, in one line."""
    with pytest.raises(error) as caught:
        ask(secured, listener, props, provider, host)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def trusting(secured: SecuredBroker) -> dict[str, object]:
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(secured.authority.certificate)}


def tls(secured: SecuredBroker) -> dict[str, object]:
    return {"security.protocol": "SSL", **trusting(secured)}


def sasl(mechanism: str, jaas: str | None = None, protocol: str = "SASL_PLAINTEXT") -> dict[str, object]:
    return {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": LOGINS[mechanism] if jaas is None else jaas,
    }


@pytest.mark.parametrize("mechanism", LOGINS)
@pytest.mark.parametrize(("listener", "protocol"), [("SASLPLAIN", "SASL_PLAINTEXT"), ("SASLTLS", "SASL_SSL")])
def test_every_mechanism_with_and_without_tls(
    secured: SecuredBroker, listener: str, protocol: str, mechanism: str
) -> None:
    ask(secured, listener, {**sasl(mechanism, protocol=protocol), **trusting(secured)})


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_name_and_password_as_librdkafka_has_them(secured: SecuredBroker, mechanism: str) -> None:
    keys = {"security.protocol": "sasl_plaintext", "sasl.mechanism": mechanism}
    ask(secured, "SASLPLAIN", {**keys, "sasl.username": "alice", "sasl.password": PASSWORD})


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize(("username", "password"), [("alice", "wrong"), ("bob", PASSWORD)])
def test_a_wrong_password_and_an_unknown_user(
    secured: SecuredBroker, mechanism: str, username: str, password: str
) -> None:
    module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    jaas = f'{MODULES}.{module}LoginModule required username="{username}" password="{password}";'
    said = refused(secured, "SASLPLAIN", sasl(mechanism, jaas))
    assert said.startswith("Authentication failed")


def test_a_token_that_ended_and_one_from_a_provider(secured: SecuredBroker) -> None:
    keys = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    claims = {"unsecuredLoginStringClaim_sub": "alice"}

    async def fresh() -> str:
        return unsecured_token(claims, AsyncioRuntime(blocking_threads=1).clock.now_ms()).value

    ask(secured, "SASLPLAIN", keys, fresh)
    old = unsecured_token(claims, 1_000_000_000_000)
    said = refused(secured, "SASLPLAIN", keys, provider=lambda: old)
    assert "ended already" in said
    said = refused(secured, "SASLPLAIN", keys, provider=lambda: OAuthBearerToken(old.value))  # the broker's opinion
    assert "invalid_token" in said or "expired" in said.lower()


def test_a_mechanism_that_is_not_enabled(secured: SecuredBroker) -> None:
    said = refused(secured, "RENEWED", sasl("PLAIN"))
    assert said == "SASL mechanism PLAIN is not enabled in the broker; enabled are: SCRAM-SHA-256"


def test_tls(secured: SecuredBroker) -> None:
    ask(secured, "TLS", tls(secured))
    ask(secured, "TLS", tls(secured), host="127.0.0.1")
    text = secured.authority.certificate.read_text()
    ask(secured, "TLS", {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.certificates": text})


@pytest.mark.parametrize(
    "keys",
    [
        {"ssl.enabled.protocols": "TLSv1.2"},
        {"ssl.protocol": "TLSv1.2"},
        {"ssl.enabled.protocols": "TLSv1.3"},
        {"ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"},
        {"ssl.cipher.suites": "ECDHE-ECDSA-AES128-GCM-SHA256"},
        {"ssl.cipher.suites": "TLS_AES_128_GCM_SHA256"},
    ],
)
def test_versions_and_suites(secured: SecuredBroker, keys: dict[str, object]) -> None:
    ask(secured, "TLS", {**tls(secured), **keys})


def test_no_suite_in_common(secured: SecuredBroker) -> None:
    """The broker's key is of a curve; suites for RSA do not fit it."""
    said = refused(secured, "TLS", {**tls(secured), "ssl.cipher.suites": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"})
    assert "ssl.cipher.suites" in said


def test_an_issuer_that_nobody_trusts(secured: SecuredBroker, tmp_path: Path) -> None:
    other = Authority(tmp_path, "Other CA").certificate
    for keys in ({}, {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(other)}):
        said = refused(secured, "TLS", {"security.protocol": "SSL", **keys})
        assert "issuer is not trusted: set ssl.truststore.location" in said


def test_a_certificate_that_has_expired(secured: SecuredBroker) -> None:
    assert refused(secured, "EXPIRED", tls(secured)).endswith("its certificate has expired")


def test_a_certificate_for_another_name(secured: SecuredBroker) -> None:
    keys = tls(secured)
    assert refused(secured, "ELSEWHERE", keys).endswith("its certificate is not for this host name")
    said = refused(secured, "ELSEWHERE", keys, host="127.0.0.1")
    assert said.endswith("its certificate is not for this IP address")
    ask(secured, "ELSEWHERE", {**keys, "ssl.endpoint.identification.algorithm": ""})


@pytest.fixture(params=["file", "encrypted", "text"])
def client_keys(request: pytest.FixtureRequest, secured: SecuredBroker) -> Iterator[dict[str, object]]:
    keys: dict[str, object] = {"ssl.keystore.type": "PEM"}
    client = secured.client
    if request.param == "file":
        keys["ssl.keystore.location"] = str(client.store)
    elif request.param == "encrypted":
        keys["ssl.keystore.location"] = str(secured.authority.encrypt(client))
        keys["ssl.key.password"] = KEY_PASSWORD
    else:
        keys["ssl.keystore.key"] = client.key.read_text()
        keys["ssl.keystore.certificate.chain"] = client.chain.read_text()
    yield keys


def test_a_broker_that_wants_a_certificate_of_ours(secured: SecuredBroker, client_keys: dict[str, object]) -> None:
    ask(secured, "MUTUAL", {**tls(secured), **client_keys})


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_no_certificate_where_one_is_wanted_or_one_of_somebody_else(
    secured: SecuredBroker, tmp_path: Path, version: str
) -> None:
    keys = {**tls(secured), "ssl.enabled.protocols": version}
    assert "ssl.keystore.location" in refused(secured, "MUTUAL", keys)
    stranger = Authority(tmp_path, "Other CA").sign("stranger")
    store = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(stranger.store)}
    assert "ssl.keystore.location" in refused(secured, "MUTUAL", {**keys, **store})


def test_plain_text_to_a_port_of_tls(secured: SecuredBroker) -> None:
    said = refused(secured, "TLS", {}, NetworkError)
    assert said.endswith("speaks TLS on this port: security.protocol should be SSL or SASL_SSL")
    said = refused(secured, "SASLTLS", sasl("PLAIN"), NetworkError)
    assert said.endswith("speaks TLS on this port: security.protocol should be SSL or SASL_SSL")


def test_tls_to_a_port_of_plain_text(secured: SecuredBroker) -> None:
    for listener in ("PLAINTEXT", "SASLPLAIN"):
        said = refused(secured, listener, tls(secured), NetworkError)
        assert "closed the connection during the SSL handshake: it may not speak TLS on this port" in said


def test_sasl_to_a_port_without_it(secured: SecuredBroker) -> None:
    assert "does not authenticate by SASL" in refused(secured, "PLAINTEXT", sasl("PLAIN"))
    assert "does not authenticate by SASL" in refused(
        secured, "TLS", {**sasl("PLAIN", protocol="SASL_SSL"), **trusting(secured)}
    )


def test_no_sasl_to_a_port_of_it(secured: SecuredBroker) -> None:
    said = refused(secured, "SASLPLAIN", {}, NetworkError)
    assert "the listener wants another security.protocol" in said


def test_a_session_is_renewed_on_the_same_connection(secured: SecuredBroker) -> None:
    """The broker would close a connection that goes on without."""

    async def test() -> None:
        async with new_client(sasl("SCRAM-SHA-256")) as (client, authenticator):
            node = Node(-1, "localhost", secured.ports["RENEWED"])
            versions = await client.connect(node)
            loop = asyncio.get_running_loop()
            began = loop.time()
            while authenticator.proofs < 3:
                await client.send(node, MetadataRequest(topics=None))
                assert client.api_versions(node) is versions, "the connection is another one"
            assert loop.time() - began >= 2 * 0.85 * REAUTH_MS / 1000 * 0.99

    asyncio.run(asyncio.wait_for(test(), PATIENCE_S))

"""Producer, consumer and admin client on secured listeners of Apache Kafka's."""

import asyncio
import base64
import time
from collections.abc import Coroutine, Mapping
from random import Random
from typing import Any

import pytest

from ottla.clients import Admin, Consumer, Producer
from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.errors import KafkaTimeoutError
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.config.client_configs import AdminConfig
from ottla.network.client_errors import AuthenticationError
from ottla.protocol.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.security.sasl.bearer_token import OAuthBearerToken
from ottla.security.sasl.unsecured_jwt import unsecured_token
from tests.clients.security.secured_broker import PASSWORD, RECORD_BYTES_MAX, SecuredBroker

PATIENCE_S = 60
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, PATIENCE_S))


def keys(secured: SecuredBroker, listener: str, protocol: str) -> dict[str, object]:
    return {
        "bootstrap.servers": f"localhost:{secured.ports[listener]}",
        "security.protocol": protocol,
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(secured.authority.certificate),
    }


@pytest.mark.parametrize(
    ("listener", "protocol"), [("TLS", "SSL"), ("SASLPLAIN", "SASL_PLAINTEXT"), ("SASLTLS", "SASL_SSL")]
)
def test_records_large_and_many_come_back(secured: SecuredBroker, listener: str, protocol: str) -> None:
    rng = Random(7)
    values = [rng.randbytes(size) for size in (1, 100, 300_000, 10_000_000, 16_384, 262_144)]
    values += [rng.randbytes(1_000) for _ in range(2_000)]
    topic = f"large-{listener}"
    common = keys(secured, listener, protocol)

    async def test() -> None:
        async with Producer({**common, "max.request.size": RECORD_BYTES_MAX}) as producer:
            for value in values:
                await producer.send(topic, value, partition=0)
            await producer.flush()
        consumer: Consumer[bytes, bytes] = Consumer({**common, "auto.offset.reset": "earliest"})
        async with consumer:
            consumer.assign([TopicPartition(topic, 0)])
            got: list[bytes | None] = []
            while len(got) < len(values):
                got += [record.value for record in await consumer.poll(1_000)]
            assert got == values

    run(test())


def test_an_admin_client(secured: SecuredBroker) -> None:
    async def test() -> None:
        async with Admin(keys(secured, "SASLTLS", "SASL_SSL")) as admin:
            assert [node.port for node in (await admin.describe_cluster()).nodes] == [secured.ports["SASLTLS"]]

    run(test())


def test_tokens_from_a_function_of_the_users(secured: SecuredBroker) -> None:
    common = {**keys(secured, "SASLTLS", "SASL_SSL"), "sasl.mechanism": "OAUTHBEARER"}
    asked = 0

    def token() -> OAuthBearerToken:
        nonlocal asked
        asked += 1
        return unsecured_token({"unsecuredLoginStringClaim_sub": "alice"}, time.time_ns() // 1_000_000)

    async def test() -> None:
        async with Producer(common, token_provider=token) as producer:
            assert (await producer.send_and_wait("tokens", b"x", partition=0)).offset == 0
        consumer: Consumer[bytes, bytes] = Consumer(common, token_provider=token, auto_offset_reset="earliest")
        async with consumer:
            consumer.assign([TopicPartition("tokens", 0)])
            while not (records := await consumer.poll(1_000)):
                pass
            assert [record.value for record in records] == [b"x"]
        async with Admin(common, token_provider=token) as admin:
            await admin.describe_cluster()
        assert asked == 3, "a client asks once for all of its connections"

    run(test())


def test_a_client_that_is_refused_says_so_at_once(secured: SecuredBroker) -> None:
    good = keys(secured, "SASLTLS", "SASL_SSL")

    async def test(props: Mapping[str, object], error: type[KafkaError], said: str) -> None:
        client = ClusterClient(AdminConfig.parse(props).common)
        try:
            with pytest.raises(error, match=said):
                await client.start(timeout_ms=2_000)
        finally:
            await client.close()

    run(test({**good, "sasl.password": "wrong"}, AuthenticationError, "invalid credentials"))
    run(test({**good, "ssl.truststore.location": None}, AuthenticationError, "issuer is not trusted"))
    run(test({**good, "security.protocol": "SASL_PLAINTEXT"}, KafkaTimeoutError, "speaks TLS on this port"))


def test_a_delegation_token(secured: SecuredBroker) -> None:
    """Made by a user who has logged in, and shown in place of that user's password."""
    common = keys(secured, "SASLPLAIN", "SASL_PLAINTEXT")

    async def ask(props: Mapping[str, object], request: Any) -> Any:
        client = ClusterClient(AdminConfig.parse(props).common)
        try:
            await client.start(timeout_ms=5_000)
            return await client.ask_any(request, timeout_ms=5_000)
        finally:
            await client.close()

    async def test() -> None:
        token = await ask(common, CreateDelegationTokenRequest(max_lifetime_ms=-1))
        assert isinstance(token, CreateDelegationTokenResponse)
        assert (token.error_code, token.principal_name) == (0, "alice")
        secret = base64.b64encode(token.hmac).decode()
        login = f'{SCRAM} required username="{token.token_id}" password="{{}}" tokenauth="true";'
        # Tokens are hashed for both mechanisms; brokers learn of a new one a moment after it was made.
        by_token = {**common, "sasl.username": None, "sasl.password": None}
        async with asyncio.timeout(20):
            while True:
                try:
                    await ask({**by_token, "sasl.jaas.config": login.format(secret)}, MetadataRequest(topics=None))
                    break
                except AuthenticationError:
                    continue
        with pytest.raises(AuthenticationError):
            await ask({**by_token, "sasl.jaas.config": login.format("wrong")}, MetadataRequest(topics=None))
        refused = await ask(
            {**by_token, "sasl.jaas.config": login.format(secret)}, CreateDelegationTokenRequest(max_lifetime_ms=-1)
        )
        assert refused.error_code == 64, "a token makes no tokens"

    run(test())

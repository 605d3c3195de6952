"""Apache Kafka with a listener for each way to be safe, and for some ways to go wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.apache.broker import ApacheBroker
from tests.apache.properties import free_port, free_ports
from tests.clients.security.certificates import Authority, Certificate
from tests.oracle import Oracle

PASSWORD = "alice-secret"
REAUTH_MS = 2_000
"""How long a session on RENEWED lasts."""

RECORD_BYTES_MAX = 32 << 20

_MODULES = "org.apache.kafka.common.security"
_LISTENERS = {
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "EXPIRED": "SSL",
    "ELSEWHERE": "SSL",
    "SASLPLAIN": "SASL_PLAINTEXT",
    "SASLTLS": "SASL_SSL",
    "RENEWED": "SASL_PLAINTEXT",
}
_JAAS = {
    "plain": f'{_MODULES}.plain.PlainLoginModule required username="admin" password="admin" user_alice="{PASSWORD}";',
    "scram-sha-256": f"{_MODULES}.scram.ScramLoginModule required;",
    "scram-sha-512": f"{_MODULES}.scram.ScramLoginModule required;",
    "oauthbearer": f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;",
}


@dataclass(frozen=True)
class SecuredBroker:
    """The broker, its listeners' ports by name, and the authority that signed all of its certificates."""

    broker: ApacheBroker
    ports: dict[str, int]
    authority: Authority
    client: Certificate


@contextmanager
def secured_broker(oracle: Oracle, directory: Path) -> Iterator[SecuredBroker]:
    authority = Authority(directory / "authority")
    certificates = {
        "TLS": authority.sign("broker"),
        "MUTUAL": authority.sign("mutual"),
        "SASLTLS": authority.sign("sasltls"),
        "EXPIRED": authority.sign("expired", days=-1),
        "ELSEWHERE": authority.sign("elsewhere", "DNS:elsewhere.example"),
    }
    main, ports = free_ports(), {name: free_port() for name in _LISTENERS}
    properties = _properties(ports, main.broker, main.controller)
    for listener, certificate in certificates.items():
        prefix = f"listener.name.{listener.lower()}.ssl"
        properties |= {
            f"{prefix}.keystore.type": "PEM",
            f"{prefix}.keystore.location": str(certificate.store),
            f"{prefix}.truststore.type": "PEM",
            f"{prefix}.truststore.location": str(authority.certificate),
        }
    properties["listener.name.mutual.ssl.client.auth"] = "required"
    with oracle.broker(directory / "broker", properties, main) as broker:
        _add_user(oracle, broker)
        yield SecuredBroker(broker, ports | {"PLAINTEXT": main.broker}, authority, authority.sign("client"))


def _properties(ports: dict[str, int], broker_port: int, controller_port: int) -> dict[str, str]:
    protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **_LISTENERS}
    every = {"PLAINTEXT": broker_port, **ports}
    addresses = {name: f"{name}://127.0.0.1:{port}" for name, port in every.items()}
    properties = {
        "listeners": ",".join((*addresses.values(), f"CONTROLLER://127.0.0.1:{controller_port}")),
        # By name, so that certificates are checked against one.
        "advertised.listeners": ",".join(address.replace("127.0.0.1", "localhost") for address in addresses.values()),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": ",".join(_JAAS).upper(),
        "connection.failed.authentication.delay.ms": "10",
        "delegation.token.secret.key": "any",
        "auto.create.topics.enable": "true",
        "message.max.bytes": str(RECORD_BYTES_MAX),
    }
    for listener, protocol in _LISTENERS.items():
        if protocol.startswith("SASL_"):
            for mechanism, jaas in _JAAS.items():
                properties[f"listener.name.{listener.lower()}.{mechanism}.sasl.jaas.config"] = jaas
    properties["listener.name.renewed.sasl.enabled.mechanisms"] = "SCRAM-SHA-256"
    properties["listener.name.renewed.scram-sha-256.connections.max.reauth.ms"] = str(REAUTH_MS)
    return properties


def _add_user(oracle: Oracle, broker: ApacheBroker) -> None:
    """One call a mechanism: Apache's tool asks for both at once, and its broker refuses that."""
    for credential in (
        f"SCRAM-SHA-256=[iterations=8192,password={PASSWORD}]",
        f"SCRAM-SHA-512=[password={PASSWORD}]",
    ):
        done = oracle.run(
            "kafka.admin.ConfigCommand",
            *("--bootstrap-server", broker.bootstrap, "--alter", "--entity-type", "users", "--entity-name", "alice"),
            *("--add-config", credential),
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"

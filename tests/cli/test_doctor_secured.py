"""``ottla doctor`` and Apache's secured listeners: each mistake is one line that says what to do."""

import json
from collections.abc import Callable, Iterator, Mapping

import pytest

from ottla.cli.doctor_security import compare_login
from ottla.cli.findings import Level
from ottla.cli.probe import mechanisms_in
from tests.cli.terminal import run_in_terminal, run_piped
from tests.clients.security.certificates import Authority
from tests.clients.security.secured_broker import PASSWORD, SecuredBroker, secured_broker
from tests.oracle import Oracle

_MODULES = "org.apache.kafka.common.security"
_MODULE = {"PLAIN": "plain.PlainLoginModule", "SCRAM-SHA-256": "scram.ScramLoginModule"}
_TLS = {"security.protocol": "SSL"}


@pytest.fixture(scope="module")
def secured(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with secured_broker(oracle, tmp_path_factory.mktemp("secured")) as broker:
        yield broker


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stranger"))


def _login(protocol: str, mechanism: str, *, user: str = "alice", password: str = PASSWORD) -> dict[str, str]:
    jaas = f'{_MODULES}.{_MODULE[mechanism]} required username="{user}" password="{password}";'
    return {"security.protocol": protocol, "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}


CASES: dict[str, tuple[str, Mapping[str, str], str, str, str]] = {
    # name: (listener, properties, store of authorities, what is found, what to do)
    "tls": ("TLS", _TLS, "ours", "", ""),
    "tls with a login": ("SASLTLS", _login("SASL_SSL", "PLAIN"), "ours", "", ""),
    "wrong authority": (
        "TLS", _TLS, "theirs", "issuer is not trusted: set ssl.truststore.location", "ssl.truststore.type=PEM",
    ),
    "no authority": ("TLS", _TLS, "", "issuer is not trusted: set ssl.truststore.location", "it goes into the"),
    "wrong host name": (
        "ELSEWHERE", _TLS, "ours", "its certificate is not for this host name", "connect by a name that is in",
    ),
    "expired": ("EXPIRED", _TLS, "ours", "its certificate has expired", "have the broker's certificate renewed"),
    "no certificate": (
        "MUTUAL", _TLS, "ours", "wants a certificate of ours, and we have none", "set ssl.keystore.location",
    ),
    "plain client, TLS port": (
        "TLS", {}, "", "does not speak Kafka's protocol in plain text (it answers with TLS)",
        "set security.protocol to SSL ",
    ),
    "TLS client, plain port": (
        "PLAINTEXT", _TLS, "ours", "speaks without TLS, but security.protocol is SSL",
        "set security.protocol to PLAINTEXT ",
    ),
    "PLAIN": ("SASLPLAIN", _login("SASL_PLAINTEXT", "PLAIN"), "", "", ""),
    "PLAIN, wrong password": (
        "SASLPLAIN", _login("SASL_PLAINTEXT", "PLAIN", password="x"), "", "Invalid username or password",
        "check user name and password in sasl.jaas.config",
    ),
    "SCRAM": ("SASLPLAIN", _login("SASL_PLAINTEXT", "SCRAM-SHA-256"), "", "", ""),
    "SCRAM, wrong password": (
        "SASLPLAIN", _login("SASL_PLAINTEXT", "SCRAM-SHA-256", password="x"), "",
        "invalid credentials with SASL mechanism SCRAM-SHA-256", "has somebody added the user's credentials",
    ),
    "SCRAM, no such user": (
        "SASLPLAIN", _login("SASL_PLAINTEXT", "SCRAM-SHA-256", user="bob"), "", "invalid credentials",
        "has somebody added the user's credentials",
    ),
    "mechanism that is off": (
        "RENEWED", _login("SASL_PLAINTEXT", "PLAIN"), "", "does not offer sasl.mechanism PLAIN, but SCRAM-SHA-256",
        "set sasl.mechanism to one of these",
    ),
    "no login where one is wanted": (
        "SASLPLAIN", {}, "", "wants a login (SASL by ", "set security.protocol to SASL_PLAINTEXT, sasl.mechanism and",
    ),
    "no login where one is wanted, TLS": (
        "SASLTLS", _TLS, "ours", "but security.protocol is SSL", "set security.protocol to SASL_SSL,",
    ),
    "login where none is wanted": (
        "PLAINTEXT", _login("SASL_PLAINTEXT", "PLAIN"), "", "wants no login, but security.protocol is SASL_PLAINTEXT",
        "set security.protocol to PLAINTEXT ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_one_line_says_what_to_do(
    secured: SecuredBroker, stranger: Authority, written: Callable[[str, str], str], case: str
) -> None:
    listener, properties, store, found, advice = CASES[case]
    settings = dict(properties)
    if store:
        authority = secured.authority if store == "ours" else stranger
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(authority.certificate)}
    config = written("client.properties", "".join(f"{key}={value}\n" for key, value in settings.items()))
    done = run_piped(
        "doctor", "--bootstrap-server", f"localhost:{secured.ports[listener]}", "--command-config", config, "--json"
    )
    assert done.stderr == ""
    failed = [each for each in json.loads(done.stdout) if each["level"] == "fail"]
    assert done.code == bool(found), done
    assert [found in each["what"] for each in failed] == ([True] if found else []), failed
    assert all(advice in each["hint"] and "\n" not in each["what"] for each in failed), failed


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ("security.protocol=TLS\n", "Invalid value TLS for configuration security.protocol"),
        (
            "security.protocol=SSL\nssl.truststore.location=/no/such.pem\n",
            "ssl.truststore.location=/no/such.pem cannot",
        ),
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n", "needs a user name"),
        ("security.protocol=SASL_PLAINTEXT\n", "sasl.mechanism is GSSAPI, the default"),
    ],
)
def test_a_configuration_that_cannot_be_used(written: Callable[[str, str], str], properties: str, text: str) -> None:
    config = written("client.properties", properties)
    line = ("doctor", "--bootstrap-server", "127.0.0.1:1", "--command-config", config)
    done = run_piped(*line)
    assert (done.code, done.stderr) == (1, "")
    first, *others = done.stdout.splitlines()
    assert first.startswith("fail  The configuration cannot be used: ")
    assert text in first
    assert others[-1].startswith("fail  Nothing listens at 127.0.0.1:1")
    assert run_in_terminal(*line).code == 1


def test_what_a_listener_offers() -> None:
    assert compare_login("p", [], "SSL", "GSSAPI").level is Level.OK
    assert compare_login("p", ["PLAIN"], "SASL_SSL", "PLAIN").level is Level.OK
    assert "set security.protocol to SSL in" in compare_login("p", [], "SASL_SSL", "PLAIN").hint
    assert mechanisms_in(b"\0\0\0\2\0\x21\0\0\0\1\0\5PLAIN") == ["PLAIN"]
    assert mechanisms_in(b"\0\0\0\2\0\x22\0\0\0\0") == []
    assert mechanisms_in(b"\0\0\0\2\0\x23\0\0\0\0") is None
    assert mechanisms_in(b"\0\0\0\2\0") is None

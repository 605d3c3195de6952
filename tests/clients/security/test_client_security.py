"""From keys to authenticators and contexts: what is made of them, and what is wrong with them in one sentence."""

import os
import shutil
import ssl
import subprocess
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from ottla.clients.security import ClientSecurity, client_security
from ottla.common.errors import InvalidConfigError
from ottla.config.client_configs import AdminConfig
from ottla.network.authenticator import PlaintextAuthenticator
from ottla.network.sasl_authenticator import SaslAuthenticator
from ottla.runtime.inline import InlineRuntime, ManualClock
from tests.clients.security.certificates import KEY_PASSWORD, Authority, Certificate, openssl

MODULES = "org.apache.kafka.common.security"
SCRAM = f"{MODULES}.scram.ScramLoginModule"


def secure(props: Mapping[str, object]) -> ClientSecurity:
    config = AdminConfig.parse({"bootstrap.servers": "localhost:9", **props}).common
    return client_security(config, InlineRuntime(clock=ManualClock(1), rng=Random(7)))


def complaint(props: Mapping[str, object]) -> str:
    with pytest.raises(InvalidConfigError) as caught:
        secure(props)
    said = str(caught.value)
    assert "\n" not in said
    assert "hunter2" not in said
    return said


def tls(**keys: object) -> dict[str, object]:
    """``ssl.*`` keys, without their prefix and with underscores."""
    return {"security.protocol": "SSL", **{f"ssl.{name.replace('_', '.')}": value for name, value in keys.items()}}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def client(authority: Authority) -> Certificate:
    return authority.sign("client")


def test_plain_text_is_the_default() -> None:
    security = secure({})
    assert isinstance(security.authenticator, PlaintextAuthenticator)
    assert security.tls_context() is None


def test_protocols_are_made_of_layers() -> None:
    login = {"sasl.mechanism": "plain", "sasl.username": "alice", "sasl.password": "hunter2"}
    sasl = secure({"security.protocol": "SASL_PLAINTEXT", **login})
    assert isinstance(sasl.authenticator, SaslAuthenticator)
    assert sasl.tls_context() is None
    both = secure({"security.protocol": "sasl_ssl", **login})
    assert isinstance(both.authenticator, SaslAuthenticator)
    assert both.tls_context() is not None
    only_tls = secure({"security.protocol": "SSL"})
    assert isinstance(only_tls.authenticator, PlaintextAuthenticator)
    assert only_tls.tls_context() is not None


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, "sasl.mechanism is GSSAPI, the default, which needs Kerberos and is not built; set it to one of PLAIN, "),
        ({"sasl.mechanism": "SCRAM-SHA-1"}, "sasl.mechanism is SCRAM-SHA-1; set it to one of"),
        ({"sasl.mechanism": "PLAIN"}, "needs a user name: set sasl.username and sasl.password"),
        ({"sasl.mechanism": "PLAIN", "sasl.username": "alice"}, "needs a password"),
        (
            {"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": f'{SCRAM} required password="hunter2";'},
            "needs a user name",
        ),
        (
            {"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": f'{SCRAM} required password="hunter2"'},
            "must end with a semicolon",
        ),
        (
            {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f'{SCRAM} required username="a" password="hunter2";'},
            "sasl.mechanism=OAUTHBEARER needs OAuthBearerLoginModule",
        ),
        (
            {
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;",
            },
            "sasl.mechanism=PLAIN needs PlainLoginModule or ScramLoginModule",
        ),
        ({"sasl.mechanism": "OAUTHBEARER"}, "set sasl.oauthbearer.token.endpoint.url"),
    ],
)
def test_logins_that_cannot_work(keys: dict[str, object], said: str) -> None:
    assert said in complaint({"security.protocol": "SASL_SSL", **keys})


def test_a_context_checks_certificates_and_names_unless_told() -> None:
    context = secure(tls()).tls_context()
    assert context is not None
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert (context.minimum_version, context.maximum_version) == (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    lenient = secure(tls(endpoint_identification_algorithm="")).tls_context()
    assert lenient is not None
    assert (lenient.verify_mode, lenient.check_hostname) == (ssl.CERT_REQUIRED, False)


@pytest.mark.parametrize(
    ("keys", "versions"),
    [
        ({"enabled_protocols": "TLSv1.3"}, ("TLSv1_3", "TLSv1_3")),
        ({"protocol": "TLSv1.2"}, ("TLSv1_2", "TLSv1_2")),
        ({"protocol": "TLS"}, ("TLSv1_2", "TLSv1_3")),
        ({"cipher_suites": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"}, ("TLSv1_2", "TLSv1_2")),
        ({"cipher_suites": "TLS_AES_256_GCM_SHA384"}, ("TLSv1_3", "TLSv1_3")),
        (
            {"cipher_suites": "TLS_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"},
            ("TLSv1_2", "TLSv1_3"),
        ),
    ],
)
def test_versions(keys: dict[str, object], versions: tuple[str, str]) -> None:
    context = secure(tls(**keys)).tls_context()
    assert context is not None
    assert (context.minimum_version.name, context.maximum_version.name) == versions


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"enabled_protocols": "SSLv3"}, "ssl.enabled.protocols names SSLv3"),
        ({"enabled_protocols": "TLSv1.3", "protocol": "TLSv1.2"}, "leave no version of TLS"),
        ({"cipher_suites": "TLS_OF_MY_OWN"}, "OpenSSL knows none of ssl.cipher.suites"),
        ({"endpoint_identification_algorithm": "LDAPS"}, "is either https or empty"),
        ({"truststore_location": "/nowhere.pem"}, "ssl.truststore.location=/nowhere.pem cannot be read: No such file"),
        ({"truststore_certificates": "x"}, "needs ssl.truststore.type=PEM"),
        ({"truststore_type": "PEM", "truststore_certificates": "x"}, "no certificates that can be read"),
        ({"truststore_password": "hunter2"}, "ssl.truststore.location is not"),
        ({"truststore_type": "PEM", "truststore_location": "x", "truststore_password": "hunter2"}, "not go with PEM"),
        ({"keystore_location": "/nowhere.pem"}, "ssl.keystore.location=/nowhere.pem cannot be read"),
        ({"keystore_key": "hunter2"}, "needs ssl.keystore.type=PEM"),
        ({"keystore_type": "PEM", "keystore_key": "hunter2"}, "needs ssl.keystore.certificate.chain"),
        ({"keystore_certificate_chain": "x"}, "needs ssl.keystore.key"),
        (
            {"keystore_type": "PEM", "keystore_key": "hunter2", "keystore_certificate_chain": "x"},
            "ssl.keystore.key must hold a private key and its certificates",
        ),
        ({"keystore_type": "PEM", "keystore_location": "x", "keystore_password": "hunter2"}, "ssl.key.password opens"),
    ],
)
def test_keys_of_tls_that_cannot_work(keys: dict[str, object], said: str) -> None:
    assert said in complaint(tls(**keys))


def test_private_keys(authority: Authority, client: Certificate) -> None:
    """In files and as text, encrypted and not; a password that is missing or wrong is never asked for."""
    encrypted = str(authority.encrypt(client))
    key, chain = client.key.read_text(), client.chain.read_text()
    secure(tls(keystore_location=str(client.store)))  # PEM by its contents, though the type says JKS
    secure(tls(keystore_type="PEM", keystore_key=key, keystore_certificate_chain=chain))
    secure(tls(keystore_type="PEM", keystore_location=encrypted, key_password=KEY_PASSWORD))
    assert "ssl.key.password is not set" in complaint(tls(keystore_type="PEM", keystore_location=encrypted))
    wrong = tls(keystore_type="PEM", keystore_location=encrypted, key_password="hunter2")
    assert "opened by ssl.key.password" in complaint(wrong)
    other = authority.sign("other")
    mixed = tls(keystore_type="PEM", keystore_key=key, keystore_certificate_chain=other.chain.read_text())
    assert "KEY_VALUES_MISMATCH" in complaint(mixed)


def test_stores_of_java_are_refused_with_the_command_that_converts_them(client: Certificate, tmp_path: Path) -> None:
    store = tmp_path / "client.p12"
    password = "hunter2"
    files = ("-inkey", client.key, "-in", client.chain, "-out", store)
    openssl("pkcs12", "-export", *files, "-passout", f"pass:{password}")
    keys = tls(keystore_type="PKCS12", keystore_location=str(store), keystore_password=password)
    said = complaint(keys)
    assert "is a PKCS12 store, which only Java reads" in said
    command = said.partition("convert it with: ")[2].partition(";")[0].split()
    assert command[0] == "openssl"
    openssl(*command[1:], "-passin", f"pass:{password}")
    secure(tls(keystore_type="PEM", keystore_location=str(tmp_path / "client.pem")))
    assert "keytool -list -rfc" in complaint(tls(truststore_type="PKCS12", truststore_location=str(store)))
    (tmp_path / "x.jks").write_bytes(b"\xfe\xed\xfe\xed...")
    assert "keytool -importkeystore" in complaint(tls(keystore_location=str(tmp_path / "x.jks")))
    (tmp_path / "x.txt").write_bytes(b"hello")
    assert complaint(tls(truststore_location=str(tmp_path / "x.txt"))).endswith("is not PEM")


def test_a_trust_store_of_java_converts_as_said(authority: Authority, tmp_path: Path) -> None:
    keytool = shutil.which("keytool")
    if keytool is None:
        pytest.skip("no keytool to make a store with")
    store, password = tmp_path / "trust.jks", "hunter2"
    entry = ("-alias", "ca", "-file", str(authority.certificate), "-noprompt")
    secret = ("-keystore", str(store), "-storepass", password)
    subprocess.run([keytool, "-importcert", *entry, *secret], check=True, capture_output=True, timeout=60)
    said = complaint(tls(truststore_location=str(store), truststore_password=password))
    assert f"keytool -list -rfc -keystore {store} > {tmp_path / 'trust.pem'}" in said
    listed = subprocess.run([keytool, "-list", "-rfc", *secret], check=True, capture_output=True, timeout=60).stdout
    (tmp_path / "trust.pem").write_bytes(listed)
    context = secure(tls(truststore_type="PEM", truststore_location=str(tmp_path / "trust.pem"))).tls_context()
    assert context is not None
    assert len(context.get_ca_certs()) == 1


def test_new_certificates_take_effect_and_broken_ones_do_not(authority: Authority, tmp_path: Path) -> None:
    trust = tmp_path / "trust.pem"
    trust.write_bytes(authority.certificate.read_bytes())
    tls_context = secure(tls(truststore_type="PEM", truststore_location=str(trust))).tls_context
    first = tls_context()
    assert tls_context() is first
    other = Authority(tmp_path / "other", "Other CA")
    trust.write_bytes(other.certificate.read_bytes())
    _touch(trust, 1)
    second = tls_context()
    assert second is not None
    assert second is not first
    assert "Other CA" in str(second.get_ca_certs())
    trust.write_bytes(b"half a certif")
    _touch(trust, 2)
    assert tls_context() is second
    trust.unlink()
    assert tls_context() is second


def _touch(path: Path, seconds: int) -> None:
    """Another time of change, however fast the test is."""
    os.utime(path, (1_000_000_000 + seconds,) * 2)

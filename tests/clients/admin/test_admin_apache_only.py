"""ACLs, quotas, SCRAM credentials, tokens and reassignments, which Ottla's broker does not have yet, on Apache."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBindingFilter as TheirFilter
from confluent_kafka.admin._acl import AclOperation as TheirOperation
from confluent_kafka.admin._acl import AclPermissionType as TheirPermission
from confluent_kafka.admin._resource import ResourcePatternType
from confluent_kafka.admin._resource import ResourceType as TheirResourceType

from ottla.clients.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ClientQuotaFilterComponent,
    KafkaPrincipal,
    NewTopic,
    PatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    TopicPartition,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
    quota_entity,
)
from ottla.clients.errors import (
    AuthenticationError,
    DelegationTokenNotFoundError,
    InvalidReplicaAssignmentError,
    InvalidRequestError,
    NoReassignmentInProgressError,
    ResourceNotFoundError,
    UnacceptableCredentialError,
    UnknownTopicOrPartitionError,
    UnsupportedByAuthenticationError,
)
from ottla.clients.sync.admin import Admin
from tests.apache.properties import free_port, free_ports
from tests.clients.admin.waiting import attempts, create
from tests.node import Node
from tests.oracle import Oracle

pytestmark = [pytest.mark.oracle, pytest.mark.xdist_group("oracle")]

READ = AclBinding(
    ResourceType.TOPIC, "orders", PatternType.LITERAL, "User:anna", "*", AclOperation.READ, AclPermissionType.ALLOW
)
WRITE = AclBinding(
    ResourceType.TOPIC, "ord", PatternType.PREFIXED, "User:anna", "*", AclOperation.WRITE, AclPermissionType.DENY
)
SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
ZERO = TopicPartition("reassigned", 0)
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@pytest.fixture(scope="module")
def sasl() -> str:
    """The address of the broker's listener on which people log in."""
    return f"127.0.0.1:{free_port()}"


@pytest.fixture(scope="module")
def kafka(oracle: Oracle, sasl: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Apache's broker with an authorizer, tokens, a listener for everybody and one for who logs in."""
    ports = free_ports()
    properties = {
        "listeners": f"PLAINTEXT://127.0.0.1:{ports.broker},LOGIN://{sasl},CONTROLLER://127.0.0.1:{ports.controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{ports.broker},LOGIN://{sasl}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.login.scram-sha-256.sasl.jaas.config": f"{_SCRAM};",
        "connection.failed.authentication.delay.ms": "10",
        "delegation.token.secret.key": "any",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "true",
    }
    with oracle.broker(tmp_path_factory.mktemp("secured"), properties, ports) as node:
        yield node


@pytest.fixture(scope="module")
def apache(admin: Admin) -> Admin:
    """A client whom everything is allowed."""
    return admin


def login(address: str, user: str, password: str) -> dict[str, object]:
    """The configuration of somebody."""
    return {
        "bootstrap.servers": address,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{_SCRAM} username="{user}" password="{password}";',
    }


def test_acls(apache: Admin, confluent: AdminClient) -> None:
    assert apache.create_acls([READ, WRITE, READ]) == {READ: None, WRITE: None}
    for _ in attempts("The ACLs"):
        if set(apache.describe_acls()) == {READ, WRITE}:
            break
    assert apache.describe_acls(AclBindingFilter(operation=AclOperation.WRITE)) == [WRITE]
    assert apache.describe_acls(AclBindingFilter(principal="User:bert")) == []
    by_name = AclBindingFilter(ResourceType.TOPIC, "orders", PatternType.MATCH)
    assert set(apache.describe_acls(by_name)) == {READ, WRITE}
    anything: tuple[Any, ...] = (
        *(TheirResourceType.ANY, None, ResourcePatternType.ANY, None, None),
        *(TheirOperation.ANY, TheirPermission.ANY),
    )
    theirs = confluent.describe_acls(TheirFilter(*anything)).result(10)
    assert {(each.name, each.principal, each.host, each.operation.name) for each in theirs} == {
        (each.name, each.principal, each.host, each.operation.name) for each in (READ, WRITE)
    }
    nobody, anna = AclBindingFilter(principal="User:bert"), AclBindingFilter(principal="User:anna")
    deleted = apache.delete_acls([nobody, anna])
    assert deleted[nobody] == []
    assert set(deleted[anna]) == {READ, WRITE}
    for _ in attempts("The deletion"):
        if apache.describe_acls() == []:
            break


def test_acls_that_make_no_sense(apache: Admin) -> None:
    nameless = replace(READ, name="")
    results = apache.create_acls([nameless, READ], raise_errors=False)
    assert isinstance(results[nameless], InvalidRequestError)
    assert results[READ] is None
    apache.delete_acls([AclBindingFilter()])


def test_quotas(apache: Admin) -> None:
    anna, default = quota_entity(user="anna"), quota_entity({"user": None, "client-id": "app"})
    quotas = {anna: {"producer_byte_rate": 1000.0}, default: {"consumer_byte_rate": 2000.0}}
    assert apache.alter_client_quotas(quotas, validate_only=True) == {anna: None, default: None}
    assert apache.describe_client_quotas() == {}
    apache.alter_client_quotas(quotas)
    for _ in attempts("The quotas"):
        if apache.describe_client_quotas() == quotas:
            break
    by_user = ClientQuotaFilterComponent("user", any_name=True)
    assert apache.describe_client_quotas([by_user]) == quotas
    assert apache.describe_client_quotas([by_user], strict=True) == {anna: quotas[anna]}
    assert apache.describe_client_quotas([ClientQuotaFilterComponent("user", "anna")]) == {anna: quotas[anna]}
    assert apache.describe_client_quotas([ClientQuotaFilterComponent("user")]) == {default: quotas[default]}
    apache.alter_client_quotas({anna: {"producer_byte_rate": None}, default: {"consumer_byte_rate": None}})
    for _ in attempts("The removal"):
        if apache.describe_client_quotas() == {}:
            break


def test_quotas_that_make_no_sense(apache: Admin) -> None:
    anna, bert = quota_entity(user="anna"), quota_entity(user="bert")
    results = apache.alter_client_quotas(
        {anna: {"no_such_quota": 1.0}, bert: {"producer_byte_rate": -1.0}}, raise_errors=False
    )
    assert all(isinstance(each, InvalidRequestError) for each in results.values())


def test_scram_credentials(apache: Admin, confluent: AdminClient) -> None:
    # Apache takes one change a user.
    apache.alter_user_scram_credentials([UserScramCredentialUpsertion("anna", SHA_256, b"secret", 8192)])
    apache.alter_user_scram_credentials([UserScramCredentialUpsertion("anna", SHA_512, b"secret")])
    expected = {ScramCredentialInfo(SHA_256, 8192), ScramCredentialInfo(SHA_512, 4096)}
    for _ in attempts("The credentials"):
        found = apache.describe_user_scram_credentials()
        if set(found.get("anna", ())) == expected:
            break
    described: Any = confluent.describe_user_scram_credentials(["anna"])
    theirs = described["anna"].result(10)
    assert {(each.mechanism.value, each.iterations) for each in theirs.scram_credential_infos} == {
        (each.mechanism.value, each.iterations) for each in expected
    }
    results = apache.describe_user_scram_credentials(["anna", "nobody"], raise_errors=False)
    assert isinstance(results["nobody"], ResourceNotFoundError)
    apache.alter_user_scram_credentials([UserScramCredentialDeletion("anna", SHA_256)])
    for _ in attempts("The deletion"):
        if apache.describe_user_scram_credentials(["anna"])["anna"] == (ScramCredentialInfo(SHA_512, 4096),):
            break
    failed = apache.alter_user_scram_credentials(
        [
            UserScramCredentialDeletion("nobody", SHA_256),
            UserScramCredentialUpsertion("bert", SHA_256, b"secret", 1),
        ],
        raise_errors=False,
    )
    assert isinstance(failed["nobody"], ResourceNotFoundError)
    assert isinstance(failed["bert"], UnacceptableCredentialError)


def test_a_user_logs_in_with_the_password_that_was_set(apache: Admin, sasl: str) -> None:
    upsertion = UserScramCredentialUpsertion("carl", SHA_256, b"pencil")
    assert "pencil" not in repr(upsertion)
    apache.alter_user_scram_credentials([upsertion])
    for _ in attempts("The credential"):
        if "carl" in apache.describe_user_scram_credentials():
            break
    for _ in attempts("The login"):
        try:
            with Admin(login(sasl, "carl", "pencil")) as carl:
                assert carl.describe_cluster().nodes
                break
        except AuthenticationError:  # until the broker has read the new credential, too
            continue
    with pytest.raises(AuthenticationError), Admin(login(sasl, "carl", "pen")):
        pass


def test_tokens_need_somebody_who_is_known(apache: Admin) -> None:
    for call in (
        apache.create_delegation_token,
        apache.describe_delegation_token,
        lambda: apache.renew_delegation_token(b"x"),
        lambda: apache.expire_delegation_token(b"x"),
    ):
        with pytest.raises(UnsupportedByAuthenticationError):
            call()


def test_tokens(apache: Admin, sasl: str) -> None:
    apache.alter_user_scram_credentials([UserScramCredentialUpsertion("dora", SHA_256, b"pencil")])
    for _ in attempts("The credential"):
        if "dora" in apache.describe_user_scram_credentials():
            break
    dora, emil = KafkaPrincipal("User", "dora"), KafkaPrincipal("User", "emil")
    with Admin(login(sasl, "dora", "pencil")) as admin:
        token = admin.create_delegation_token(renewers=[emil], max_lifetime_ms=3_600_000)
        assert (token.owner, token.requester, token.renewers) == (dora, dora, (emil,))
        assert token.max_timestamp_ms == token.issue_timestamp_ms + 3_600_000
        assert token.hmac
        assert token.hmac.hex() not in repr(token)
        for _ in attempts("The token"):
            if admin.describe_delegation_token([dora]) == [token]:
                break
        assert admin.describe_delegation_token([KafkaPrincipal("User", "frida")]) == []
        assert admin.renew_delegation_token(token.hmac, renew_period_ms=1_000_000) <= token.max_timestamp_ms
        with pytest.raises(DelegationTokenNotFoundError):
            admin.renew_delegation_token(b"nothing")
        admin.expire_delegation_token(token.hmac)
        for _ in attempts("The end of the token"):
            if admin.describe_delegation_token() == []:
                break


def test_reassignments(apache: Admin) -> None:
    create(apache, [NewTopic(ZERO.topic, 1)])
    node_id = apache.describe_cluster().nodes[0].id
    assert apache.list_partition_reassignments() == {}
    assert apache.list_partition_reassignments([ZERO]) == {}
    assert apache.alter_partition_reassignments({ZERO: [node_id]}) == {ZERO: None}
    with pytest.raises(NoReassignmentInProgressError):
        apache.alter_partition_reassignments({ZERO: None})
    missing = TopicPartition("no-such-topic", 0)
    results = apache.alter_partition_reassignments({ZERO: [node_id, 99], missing: [node_id]}, raise_errors=False)
    assert isinstance(results[ZERO], InvalidReplicaAssignmentError)
    assert isinstance(results[missing], UnknownTopicOrPartitionError)
    with pytest.raises(InvalidReplicaAssignmentError):
        apache.alter_partition_reassignments({ZERO: [node_id, 99]}, allow_replication_factor_change=False)

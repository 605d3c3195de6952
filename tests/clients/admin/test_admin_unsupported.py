"""What Ottla's broker does not have yet is an UnsupportedVersionError, told at once."""

from collections.abc import Callable, Iterator

import pytest

from ottla.clients.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    RaftVoterEndpoint,
    ResourceType,
    ScramMechanism,
    TopicPartition,
    UserScramCredentialDeletion,
    quota_entity,
)
from ottla.clients.errors import UnsupportedVersionError
from ottla.clients.sync.admin import Admin
from ottla.common.uuid import Uuid
from ottla.testing import Broker

ACL = AclBinding(
    ResourceType.TOPIC, "orders", PatternType.LITERAL, "User:anna", "*", AclOperation.READ, AclPermissionType.ALLOW
)
CALLS: dict[str, Callable[[Admin], object]] = {
    "create_acls": lambda admin: admin.create_acls([ACL]),
    "describe_acls": lambda admin: admin.describe_acls(),
    "delete_acls": lambda admin: admin.delete_acls([AclBindingFilter()]),
    "describe_client_quotas": lambda admin: admin.describe_client_quotas(),
    "alter_client_quotas": lambda admin: admin.alter_client_quotas({quota_entity(user="anna"): {"x": 1}}),
    "describe_scram": lambda admin: admin.describe_user_scram_credentials(),
    "alter_scram": lambda admin: admin.alter_user_scram_credentials(
        [UserScramCredentialDeletion("anna", ScramMechanism.SCRAM_SHA_256)]
    ),
    "create_token": lambda admin: admin.create_delegation_token(),
    "renew_token": lambda admin: admin.renew_delegation_token(b"x"),
    "expire_token": lambda admin: admin.expire_delegation_token(b"x"),
    "describe_token": lambda admin: admin.describe_delegation_token(),
    "alter_reassignments": lambda admin: admin.alter_partition_reassignments({TopicPartition("t", 0): [1]}),
    "add_voter": lambda admin: admin.add_raft_voter(7, Uuid(b"d" * 16), [RaftVoterEndpoint("C", "127.0.0.1", 1)]),
    "remove_voter": lambda admin: admin.remove_raft_voter(7, Uuid(b"d" * 16)),
}


@pytest.fixture(scope="module")
def ottla() -> Iterator[Admin]:
    """A client of Ottla's broker."""
    with Broker() as broker, Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        yield admin


@pytest.mark.parametrize("name", CALLS)
def test_it_is_told_that_there_is_no_such_api(ottla: Admin, name: str) -> None:
    with pytest.raises(UnsupportedVersionError, match="does not support"):
        CALLS[name](ottla)


def test_it_is_an_error_like_others(ottla: Admin) -> None:
    assert isinstance(ottla.create_acls([ACL], raise_errors=False)[ACL], UnsupportedVersionError)
    # Nothing can be under way where nothing can begin.
    assert ottla.list_partition_reassignments() == {}

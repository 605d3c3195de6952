"""Who may do what: the port, and the authorizer that every node has until ACLs exist."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, Protocol

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.network.request import RequestContext


class AclOperation(IntEnum):
    """What can be done with a resource; Kafka's codes."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class ResourceType(IntEnum):
    """What things can be done with; Kafka's codes."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5


CLUSTER_NAME: Final = "kafka-cluster"
NOT_ASKED: Final = -(2**31)
"""What stands for authorized operations in a response whose request did not want them."""

_ALL = AclOperation
SUPPORTED_OPERATIONS: Final = {
    ResourceType.TOPIC: (
        *(_ALL.READ, _ALL.WRITE, _ALL.CREATE, _ALL.DESCRIBE, _ALL.DELETE, _ALL.ALTER),
        *(_ALL.DESCRIBE_CONFIGS, _ALL.ALTER_CONFIGS),
    ),
    ResourceType.GROUP: (_ALL.READ, _ALL.DESCRIBE, _ALL.DELETE, _ALL.DESCRIBE_CONFIGS, _ALL.ALTER_CONFIGS),
    ResourceType.CLUSTER: (
        *(_ALL.CREATE, _ALL.CLUSTER_ACTION, _ALL.DESCRIBE_CONFIGS, _ALL.ALTER_CONFIGS),
        *(_ALL.IDEMPOTENT_WRITE, _ALL.ALTER, _ALL.DESCRIBE),
    ),
}
"""The operations that make sense for a resource, for those who ask what they may do."""


class Authorizer(Protocol):
    """Decides for every request; a listener accepts nobody before its authorizer is ready."""

    async def start(self) -> None:
        """Return once decisions can be made."""

    def authorize(self, context: RequestContext, operation: AclOperation, resource: ResourceType, name: str) -> bool:
        """Whether the request's principal may do this."""


class AllowAll:
    """The authorizer of a node without ACLs."""

    async def start(self) -> None:
        """There is nothing to load."""

    def authorize(self, context: RequestContext, operation: AclOperation, resource: ResourceType, name: str) -> bool:  # noqa: ARG002
        """Everybody may do everything."""
        return True


def authorized_operations(authorizer: Authorizer, context: RequestContext, resource: ResourceType, name: str) -> int:
    """The operations that the principal may do, as a bit field."""
    return sum(
        1 << operation
        for operation in SUPPORTED_OPERATIONS[resource]
        if authorizer.authorize(context, operation, resource, name)
    )


def split_authorized(
    authorizer: Authorizer,
    context: RequestContext,
    operation: AclOperation,
    resource: ResourceType,
    names: Iterable[str],
) -> tuple[list[str], list[str]]:
    """The names of things that the principal may do this with, and the others."""
    allowed: list[str] = []
    denied: list[str] = []
    for name in names:
        (allowed if authorizer.authorize(context, operation, resource, name) else denied).append(name)
    return allowed, denied


def require_cluster(authorizer: Authorizer, context: RequestContext, operation: AclOperation) -> None:
    """CLUSTER_AUTHORIZATION_FAILED unless the principal may do this with the cluster."""
    if not authorizer.authorize(context, operation, ResourceType.CLUSTER, CLUSTER_NAME):
        raise ApiError(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            f"{operation.name} on the cluster is not allowed for {context.principal}",
        )


def require_group(authorizer: Authorizer, context: RequestContext, operation: AclOperation, group_id: str) -> None:
    """GROUP_AUTHORIZATION_FAILED unless the principal may do this with a group."""
    if not authorizer.authorize(context, operation, ResourceType.GROUP, group_id):
        raise ApiError(ErrorCode.GROUP_AUTHORIZATION_FAILED)


def require_transactional_id(
    authorizer: Authorizer, context: RequestContext, operation: AclOperation, transactional_id: str
) -> None:
    """TRANSACTIONAL_ID_AUTHORIZATION_FAILED unless the principal may do this with a transactional id."""
    if not authorizer.authorize(context, operation, ResourceType.TRANSACTIONAL_ID, transactional_id):
        raise ApiError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)

"""Access control lists."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, overload

from ottla.clients.admin.acl_operation import AclOperation
from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Ask, controller
from ottla.clients.admin.results import check, outcome
from ottla.common.errors import KafkaError
from ottla.protocol.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from ottla.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from ottla.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse


class _OrUnknown(IntEnum):
    @classmethod
    def _missing_(cls, _: object) -> "_OrUnknown":
        return cls(0)


class ResourceType(_OrUnknown):
    """What is protected; ANY matches all in a filter."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(_OrUnknown):
    """How a name is compared; ANY and MATCH (all that apply to a name) are for filters."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclPermissionType(_OrUnknown):
    """Whether an ACL allows or denies; ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


@dataclass(frozen=True, slots=True)
class AclBinding:
    """Who (``User:anna``) may or may not do what, from where (``*``: anywhere), with which resource."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: AclOperation
    permission_type: AclPermissionType


@dataclass(frozen=True, slots=True)
class AclBindingFilter:
    """All ACLs that are like this; None and ANY stand for everything."""

    resource_type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission_type: AclPermissionType = AclPermissionType.ANY


class AclsPart(AdminPart):
    """ACLs."""

    __slots__ = ()

    @overload
    async def create_acls(
        self,
        acls: Iterable[AclBinding],
        *,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[AclBinding, None]: ...
    @overload
    async def create_acls(
        self,
        acls: Iterable[AclBinding],
        *,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[AclBinding, KafkaError | None]: ...
    async def create_acls(
        self,
        acls: Iterable[AclBinding],
        *,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[AclBinding, KafkaError | None]:
        """Add ACLs; one that exists already is fine."""

        def request(keys: Sequence[AclBinding], _: int) -> CreateAclsRequest:
            return CreateAclsRequest(creations=[_creation(acl) for acl in keys])

        ask = Ask(list(dict.fromkeys(acls)), controller, request, created_acls)
        return await self._ask(ask, timeout_ms, raise_errors)

    async def describe_acls(
        self, matching: AclBindingFilter | None = None, *, timeout_ms: int | None = None
    ) -> list[AclBinding]:
        """The ACLs that match; all of them without a filter."""
        wanted = matching or AclBindingFilter()
        request = DescribeAclsRequest(
            resource_type_filter=wanted.resource_type,
            resource_name_filter=wanted.name,
            pattern_type_filter=wanted.pattern_type,
            principal_filter=wanted.principal,
            host_filter=wanted.host,
            operation=wanted.operation,
            permission_type=wanted.permission_type,
        )
        return await self._ask_one(lambda _: request, described_acls, timeout_ms)

    @overload
    async def delete_acls(
        self,
        filters: Iterable[AclBindingFilter],
        *,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[AclBindingFilter, list[AclBinding]]: ...
    @overload
    async def delete_acls(
        self,
        filters: Iterable[AclBindingFilter],
        *,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[AclBindingFilter, list[AclBinding] | KafkaError]: ...
    async def delete_acls(
        self,
        filters: Iterable[AclBindingFilter],
        *,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[AclBindingFilter, list[AclBinding] | KafkaError]:
        """Delete the ACLs that match; gives those that each filter has deleted."""

        def request(keys: Sequence[AclBindingFilter], _: int) -> DeleteAclsRequest:
            return DeleteAclsRequest(filters=[_deletion(each) for each in keys])

        ask = Ask(list(dict.fromkeys(filters)), controller, request, deleted_acls)
        return await self._ask(ask, timeout_ms, raise_errors)


def _creation(acl: AclBinding) -> AclCreation:
    return AclCreation(
        resource_type=acl.resource_type,
        resource_name=acl.name,
        resource_pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


def created_acls(response: CreateAclsResponse, asked: Sequence[AclBinding]) -> dict[AclBinding, KafkaError | None]:
    """Read which ACLs have been added; the answers stand in the order of the questions."""
    pairs = zip(asked, response.results, strict=False)
    return {acl: outcome(each.error_code, each.error_message, None) for acl, each in pairs}


def described_acls(response: DescribeAclsResponse) -> list[AclBinding]:
    """Read ACLs."""
    check(response.error_code, response.error_message)
    return [
        AclBinding(
            ResourceType(resource.resource_type),
            resource.resource_name,
            PatternType(resource.pattern_type),
            each.principal,
            each.host,
            AclOperation(each.operation),
            AclPermissionType(each.permission_type),
        )
        for resource in response.resources
        for each in resource.acls
    ]


def _deletion(matching: AclBindingFilter) -> DeleteAclsFilter:
    return DeleteAclsFilter(
        resource_type_filter=matching.resource_type,
        resource_name_filter=matching.name,
        pattern_type_filter=matching.pattern_type,
        principal_filter=matching.principal,
        host_filter=matching.host,
        operation=matching.operation,
        permission_type=matching.permission_type,
    )


def deleted_acls(
    response: DeleteAclsResponse, asked: Sequence[AclBindingFilter]
) -> dict[AclBindingFilter, list[AclBinding] | KafkaError]:
    """Read what has been deleted; a filter fails with the first ACL that it could not delete."""
    return {each: _deleted(result) for each, result in zip(asked, response.filter_results, strict=False)}


def _deleted(result: DeleteAclsFilterResult) -> list[AclBinding] | KafkaError:
    deleted: list[AclBinding] = []
    for each in result.matching_acls:
        acl = AclBinding(
            ResourceType(each.resource_type),
            each.resource_name,
            PatternType(each.pattern_type),
            each.principal,
            each.host,
            AclOperation(each.operation),
            AclPermissionType(each.permission_type),
        )
        checked = outcome(each.error_code, each.error_message, acl)
        if isinstance(checked, KafkaError):
            return checked
        deleted.append(checked)
    return outcome(result.error_code, result.error_message, deleted)

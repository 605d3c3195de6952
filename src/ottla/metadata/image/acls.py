"""The access control entries."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ottla.common.uuid import Uuid
from ottla.metadata.image.changes import applied, mark_missing
from ottla.metadata.records.security import AccessControlEntryRecord, RemoveAccessControlEntryRecord


class StandardAcl(NamedTuple):
    """One entry; types, operation and permission are Kafka's codes."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    @classmethod
    def from_record(cls, record: AccessControlEntryRecord) -> "StandardAcl":
        """What a record says."""
        return cls(
            record.resource_type,
            record.resource_name,
            record.pattern_type,
            record.principal,
            record.host,
            record.operation,
            record.permission_type,
        )

    def to_record(self, acl_id: Uuid) -> AccessControlEntryRecord:
        """The record that recreates the entry."""
        return AccessControlEntryRecord(
            id=acl_id,
            resource_type=self.resource_type,
            resource_name=self.resource_name,
            pattern_type=self.pattern_type,
            principal=self.principal,
            host=self.host,
            operation=self.operation,
            permission_type=self.permission_type,
        )


@dataclass(frozen=True, slots=True)
class AclsImage:
    """The entries by id."""

    acls: Mapping[Uuid, StandardAcl] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is no entry."""
        return not self.acls

    def records(self) -> Iterator[AccessControlEntryRecord]:
        """One record an entry."""
        for acl_id, acl in self.acls.items():
            yield acl.to_record(acl_id)


class AclsDelta:
    """Changes to the entries, in the order in which they came; None stands for a removed one."""

    __slots__ = ("changes", "image")

    def __init__(self, image: AclsImage) -> None:
        self.image = image
        self.changes: dict[Uuid, StandardAcl | None] = {}

    def replay(self, record: AccessControlEntryRecord) -> None:
        """An entry exists."""
        self.changes[record.id] = StandardAcl.from_record(record)

    def replay_remove(self, record: RemoveAccessControlEntryRecord) -> None:
        """An entry is gone; one that this delta made leaves no trace."""
        if record.id in self.image.acls:
            self.changes[record.id] = None
        elif record.id in self.changes:
            del self.changes[record.id]
        else:
            raise ValueError(f"Failed to find existing ACL with ID {record.id} in either image or changes")

    def finish_snapshot(self) -> None:
        """What the snapshot did not mention is gone."""
        mark_missing(self.image.acls, self.changes)

    def apply(self) -> AclsImage:
        """The image after the changes."""
        return AclsImage(applied(self.image.acls, self.changes))

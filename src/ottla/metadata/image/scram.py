"""The SCRAM credentials of users."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from ottla.metadata.image.changes import applied, mark_missing
from ottla.metadata.image_writer_options import ImageWriterOptions
from ottla.metadata.records.security import RemoveUserScramCredentialRecord, UserScramCredentialRecord


class ScramMechanism(IntEnum):
    """The mechanisms that Kafka defines."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


@dataclass(frozen=True, slots=True)
class ScramCredentialData:
    """What a server keeps of a password; never shown."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int = field(repr=False)


@dataclass(frozen=True, slots=True)
class ScramImage:
    """Credentials by mechanism, then by user."""

    mechanisms: Mapping[int, Mapping[str, ScramCredentialData]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nobody has a credential."""
        return not self.mechanisms

    def records(self, options: ImageWriterOptions) -> Iterator[UserScramCredentialRecord]:
        """One record a user and mechanism."""
        if self.mechanisms and not options.metadata_version.is_scram_supported:
            users = {user: None for credentials in self.mechanisms.values() for user in credentials}
            options.handle_loss(f"the SCRAM credentials of {', '.join(users)}")
            return
        for mechanism, credentials in self.mechanisms.items():
            for user, data in credentials.items():
                yield UserScramCredentialRecord(
                    name=user,
                    mechanism=mechanism,
                    salt=data.salt,
                    stored_key=data.stored_key,
                    server_key=data.server_key,
                    iterations=data.iterations,
                )


class ScramDelta:
    """Changes to credentials by mechanism and user; None stands for a removed one."""

    __slots__ = ("changes", "image")

    def __init__(self, image: ScramImage) -> None:
        self.image = image
        self.changes: dict[int, dict[str, ScramCredentialData | None]] = {}

    def replay(self, record: UserScramCredentialRecord) -> None:
        """A user has a credential."""
        self.changes.setdefault(record.mechanism, {})[record.name] = ScramCredentialData(
            bytes(record.salt), bytes(record.stored_key), bytes(record.server_key), record.iterations
        )

    def replay_remove(self, record: RemoveUserScramCredentialRecord) -> None:
        """A user's credential is gone."""
        self.changes.setdefault(record.mechanism, {})[record.name] = None

    def finish_snapshot(self) -> None:
        """What the snapshot did not mention is gone."""
        for mechanism, credentials in self.image.mechanisms.items():
            mark_missing(credentials, self.changes.setdefault(mechanism, {}))

    def apply(self) -> ScramImage:
        """The image after the changes; a mechanism without users is left out."""
        mechanisms = dict(self.image.mechanisms)
        for mechanism, changes in self.changes.items():
            credentials = applied(mechanisms.pop(mechanism, {}), changes)
            if credentials:
                mechanisms[mechanism] = credentials
        return ScramImage(mechanisms)

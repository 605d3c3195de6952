"""The delegation tokens."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ottla.metadata.image.changes import applied, mark_missing
from ottla.metadata.image_writer_options import ImageWriterOptions
from ottla.metadata.records.security import DelegationTokenRecord, RemoveDelegationTokenRecord


@dataclass(frozen=True, slots=True)
class DelegationTokenData:
    """A token without its HMAC, which is derived from the token id and the cluster's secret key.

    Principals are in text form (``User:alice``); timestamps are milliseconds.
    """

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int

    @classmethod
    def from_record(cls, record: DelegationTokenRecord) -> "DelegationTokenData":
        """What a record says."""
        return cls(
            record.token_id,
            record.owner,
            record.requester,
            tuple(record.renewers),
            record.issue_timestamp,
            record.max_timestamp,
            record.expiration_timestamp,
        )

    def to_record(self) -> DelegationTokenRecord:
        """The record that recreates the token."""
        return DelegationTokenRecord(
            owner=self.owner,
            requester=self.requester,
            renewers=self.renewers,
            issue_timestamp=self.issue_timestamp,
            max_timestamp=self.max_timestamp,
            expiration_timestamp=self.expiration_timestamp,
            token_id=self.token_id,
        )


@dataclass(frozen=True, slots=True)
class DelegationTokensImage:
    """The tokens by id."""

    tokens: Mapping[str, DelegationTokenData] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is no token."""
        return not self.tokens

    def records(self, options: ImageWriterOptions) -> Iterator[DelegationTokenRecord]:
        """One record a token."""
        if self.tokens and not options.metadata_version.is_delegation_token_supported:
            options.handle_loss(f"the delegation tokens {', '.join(self.tokens)}")
            return
        for token in self.tokens.values():
            yield token.to_record()


class DelegationTokensDelta:
    """Changes to tokens; None stands for a removed one."""

    __slots__ = ("changes", "image")

    def __init__(self, image: DelegationTokensImage) -> None:
        self.image = image
        self.changes: dict[str, DelegationTokenData | None] = {}

    def replay(self, record: DelegationTokenRecord) -> None:
        """A token exists or was renewed."""
        self.changes[record.token_id] = DelegationTokenData.from_record(record)

    def replay_remove(self, record: RemoveDelegationTokenRecord) -> None:
        """A token is gone."""
        self.changes[record.token_id] = None

    def finish_snapshot(self) -> None:
        """What the snapshot did not mention is gone."""
        mark_missing(self.image.tokens, self.changes)

    def apply(self) -> DelegationTokensImage:
        """The image after the changes."""
        return DelegationTokensImage(applied(self.image.tokens, self.changes))

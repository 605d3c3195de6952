"""The bodies of KRaft's control records: flexible messages, version 0, as Apache's schemas of the same names say.

Every struct ends in a tagged section; ours is empty, and tags that a newer writer left are skipped. ``version`` inside
a body repeats the message version and is kept as it was read.
"""

import struct
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from ottla.common.errors import InvalidRecordError
from ottla.common.uuid import Uuid
from ottla.records.control_type import ControlRecordType
from ottla.records.varint import encode_unsigned_varint, read_unsigned_varint

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_UINT16: Final = struct.Struct(">H")
_INT64: Final = struct.Struct(">q")
_NO_TAGS: Final = b"\x00"
_UUID_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderChangeMessage:
    """A new leader's first record: who it is, who may vote, and who voted for it."""

    type: ClassVar = ControlRecordType.LEADER_CHANGE

    version: int = 0
    leader_id: int
    voters: tuple[int, ...] = ()
    granting_voters: tuple[int, ...] = ()

    def encode(self) -> bytes:
        """The record's value."""
        parts = [_INT16.pack(self.version), _INT32.pack(self.leader_id)]
        for voters in (self.voters, self.granting_voters):
            parts.append(encode_unsigned_varint(len(voters) + 1))
            parts += (_INT32.pack(voter_id) + _NO_TAGS for voter_id in voters)
        return b"".join((*parts, _NO_TAGS))

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """Read a record's value; raises InvalidRecordError if it is none."""
        reader = _Reader(value)
        version, leader_id = reader.number(_INT16), reader.number(_INT32)
        voters, granting_voters = cls._decode_voters(reader), cls._decode_voters(reader)
        reader.skip_tags()
        return cls(version=version, leader_id=leader_id, voters=voters, granting_voters=granting_voters)

    @staticmethod
    def _decode_voters(reader: "_Reader") -> tuple[int, ...]:
        voters = []
        for _ in range(reader.array_length()):
            voters.append(reader.number(_INT32))
            reader.skip_tags()
        return tuple(voters)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotHeaderRecord:
    """The first record of a snapshot."""

    type: ClassVar = ControlRecordType.SNAPSHOT_HEADER

    version: int = 0
    last_contained_log_timestamp: int

    def encode(self) -> bytes:
        """The record's value."""
        return _INT16.pack(self.version) + _INT64.pack(self.last_contained_log_timestamp) + _NO_TAGS

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """Read a record's value; raises InvalidRecordError if it is none."""
        reader = _Reader(value)
        message = cls(version=reader.number(_INT16), last_contained_log_timestamp=reader.number(_INT64))
        reader.skip_tags()
        return message


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFooterRecord:
    """The last record of a snapshot; without it the snapshot is incomplete."""

    type: ClassVar = ControlRecordType.SNAPSHOT_FOOTER

    version: int = 0

    def encode(self) -> bytes:
        """The record's value."""
        return _INT16.pack(self.version) + _NO_TAGS

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """Read a record's value; raises InvalidRecordError if it is none."""
        reader = _Reader(value)
        message = cls(version=reader.number(_INT16))
        reader.skip_tags()
        return message


@dataclass(frozen=True, slots=True, kw_only=True)
class KRaftVersionRecord:
    """The version of the KRaft protocol from here on."""

    type: ClassVar = ControlRecordType.KRAFT_VERSION

    version: int = 0
    kraft_version: int

    def encode(self) -> bytes:
        """The record's value."""
        return _INT16.pack(self.version) + _INT16.pack(self.kraft_version) + _NO_TAGS

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """Read a record's value; raises InvalidRecordError if it is none."""
        reader = _Reader(value)
        message = cls(version=reader.number(_INT16), kraft_version=reader.number(_INT16))
        reader.skip_tags()
        return message


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a voter listens, under the listener's name."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """One voter: its replica id and directory, its endpoints, and the KRaft versions it speaks."""

    voter_id: int
    voter_directory_id: Uuid
    endpoints: tuple[Endpoint, ...] = ()
    min_supported_version: int = 0
    max_supported_version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class VotersRecord:
    """The quorum's voters from here on."""

    type: ClassVar = ControlRecordType.KRAFT_VOTERS

    version: int = 0
    voters: tuple[Voter, ...] = ()

    def encode(self) -> bytes:
        """The record's value."""
        parts = [_INT16.pack(self.version), encode_unsigned_varint(len(self.voters) + 1)]
        for voter in self.voters:
            parts += (_INT32.pack(voter.voter_id), voter.voter_directory_id.bytes)
            parts.append(encode_unsigned_varint(len(voter.endpoints) + 1))
            for endpoint in voter.endpoints:
                parts += (_compact_string(endpoint.name), _compact_string(endpoint.host))
                parts += (_UINT16.pack(endpoint.port), _NO_TAGS)
            parts += (_INT16.pack(voter.min_supported_version), _INT16.pack(voter.max_supported_version), _NO_TAGS)
            parts.append(_NO_TAGS)
        return b"".join((*parts, _NO_TAGS))

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """Read a record's value; raises InvalidRecordError if it is none."""
        reader = _Reader(value)
        version = reader.number(_INT16)
        voters = tuple(cls._decode_voter(reader) for _ in range(reader.array_length()))
        reader.skip_tags()
        return cls(version=version, voters=voters)

    @staticmethod
    def _decode_voter(reader: "_Reader") -> Voter:
        voter_id, directory_id = reader.number(_INT32), Uuid(reader.take(_UUID_BYTES))
        endpoints = []
        for _ in range(reader.array_length()):
            endpoints.append(Endpoint(name=reader.string(), host=reader.string(), port=reader.number(_UINT16)))
            reader.skip_tags()
        lowest, highest = reader.number(_INT16), reader.number(_INT16)
        reader.skip_tags()
        reader.skip_tags()
        return Voter(
            voter_id=voter_id,
            voter_directory_id=directory_id,
            endpoints=tuple(endpoints),
            min_supported_version=lowest,
            max_supported_version=highest,
        )


KRaftControlMessage = (
    LeaderChangeMessage | SnapshotHeaderRecord | SnapshotFooterRecord | KRaftVersionRecord | VotersRecord
)


class _Reader:
    """Reads a flexible message from its first byte on; whatever does not fit raises InvalidRecordError."""

    __slots__ = ("_data", "_position")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, size: int) -> bytes:
        taken = self._data[self._position : self._position + size]
        if len(taken) != size:
            raise InvalidRecordError(f"Control record value ends early: {size} bytes wanted, {len(taken)} left")
        self._position += size
        return taken

    def number(self, form: struct.Struct) -> int:
        number: int = form.unpack(self.take(form.size))[0]
        return number

    def length(self) -> int:
        try:
            length, self._position = read_unsigned_varint(self._data, self._position)
        except IndexError as error:
            raise InvalidRecordError("Control record value ends early: a length is missing") from error
        return length

    def array_length(self) -> int:
        length = self.length() - 1
        if not 0 <= length <= len(self._data) - self._position:
            raise InvalidRecordError(f"Control record value has an array of {length} elements")
        return length

    def string(self) -> str:
        length = self.length() - 1
        if length < 0:
            raise InvalidRecordError("Control record value has null where a string must be")
        return self.take(length).decode("utf-8", "replace")

    def skip_tags(self) -> None:
        for _ in range(self.length()):
            self.length()
            self.take(self.length())


def _compact_string(text: str) -> bytes:
    encoded = text.encode("utf-8")
    return encode_unsigned_varint(len(encoded) + 1) + encoded

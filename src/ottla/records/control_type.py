"""The kinds of control record, and the key that names them: ``version i16 | type i16``."""

import struct
from enum import IntEnum
from typing import Final

from ottla.common.errors import InvalidRecordError

KEY_VERSION: Final = 0
_KEY: Final = struct.Struct(">hh")


class ControlRecordType(IntEnum):
    """What a control record says; UNKNOWN stands for types of a later version, which readers skip."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6

    @property
    def record_key(self) -> bytes:
        """The key of a control record of this type."""
        assert self is not ControlRecordType.UNKNOWN
        return _KEY.pack(KEY_VERSION, self)

    @classmethod
    def parse(cls, key: bytes | None) -> "ControlRecordType":
        """The type that a control record's key names.

        Raises InvalidRecordError if the key is too short or its version negative; keys of later versions are read as
        this one, since they may only grow at the end.
        """
        if key is None or len(key) < _KEY.size:
            raise InvalidRecordError(
                f"Invalid value size found for control record key. Must have at least {_KEY.size} bytes, but found "
                f"only {len(key or b'')}"
            )
        version, type_id = _KEY.unpack_from(key)
        if version < KEY_VERSION:
            raise InvalidRecordError(
                f"Invalid version found for control record: {version}. May indicate data corruption"
            )
        return _BY_ID.get(type_id, cls.UNKNOWN)


_BY_ID: Final = {int(control_type): control_type for control_type in ControlRecordType}

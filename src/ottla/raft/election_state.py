"""What a replica must remember about elections, or it could vote twice in an epoch; and the JSON it is kept in. Pure.

Version 0 (kraft.version 0) has a cluster id that is always empty, an applied offset that is always 0 and the voters'
ids; version 1 has the directory id of the candidate voted for instead.
"""

import json
from dataclasses import dataclass
from typing import Any, Final

from ottla.common.errors import KafkaStorageError
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.raft.voter_set import ReplicaKey

HIGHEST_VERSION: Final = 1

_UNKNOWN_LEADER_ID: Final = -1
_NOT_VOTED: Final = -1


@dataclass(frozen=True, slots=True)
class ElectionState:
    """The epoch, who leads it, and whom this replica voted for in it."""

    epoch: int
    leader_id: int | None = None
    voted_key: ReplicaKey | None = None
    voter_ids: tuple[int, ...] = ()
    """Written by version 0 alone, and read by nobody."""

    def is_voted_candidate(self, key: ReplicaKey) -> bool:
        """Whether the vote went to this replica; one without a directory id went to whoever has its node id."""
        voted = self.voted_key
        if voted is None or voted.id != key.id:
            return False
        return voted.directory_id is None or voted.directory_id == key.directory_id

    def encode(self, version: int) -> bytes:
        """The file's contents, byte for byte as Apache Kafka writes them."""
        leader_id = _UNKNOWN_LEADER_ID if self.leader_id is None else self.leader_id
        voted_id = _NOT_VOTED if self.voted_key is None else self.voted_key.id
        fields: dict[str, object] = {"leaderId": leader_id, "leaderEpoch": self.epoch, "votedId": voted_id}
        if version == 0:
            voters = [{"voterId": voter_id} for voter_id in self.voter_ids]
            fields = {"clusterId": "", **fields, "appliedOffset": 0, "currentVoters": voters}
        else:
            directory_id = (self.voted_key.directory_id if self.voted_key is not None else None) or ZERO_UUID
            fields["votedDirectoryId"] = str(directory_id)
        fields["data_version"] = version
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, data: bytes, path: str) -> "ElectionState":
        """Read the file's contents; raises KafkaStorageError that names the file and what is wrong with it."""
        try:
            fields = json.loads(data)
        except ValueError as error:
            raise KafkaStorageError(f"Error while reading the Quorum status from the file {path}: {error}") from error
        if not isinstance(fields, dict) or "data_version" not in fields:
            raise KafkaStorageError(f"{path} does not have a data_version field")
        version = fields["data_version"]
        if version not in range(HIGHEST_VERSION + 1):
            raise KafkaStorageError(
                f"{path}: data_version ({version}) is not within the min (0) and max ({HIGHEST_VERSION}) supported "
                "version"
            )
        try:
            return cls._from_fields(fields, version)
        except (KeyError, TypeError, ValueError) as error:
            raise KafkaStorageError(f"{path} is malformed: {error!r}") from error

    @classmethod
    def _from_fields(cls, fields: dict[str, Any], version: int) -> "ElectionState":
        leader_id, voted_id = int(fields["leaderId"]), int(fields["votedId"])
        directory_id = Uuid.from_string(fields["votedDirectoryId"]) if version >= 1 else ZERO_UUID
        voters = fields["currentVoters"] if version == 0 else ()
        return cls(
            int(fields["leaderEpoch"]),
            None if leader_id == _UNKNOWN_LEADER_ID else leader_id,
            None if voted_id == _NOT_VOTED else ReplicaKey.of(voted_id, directory_id),
            tuple(sorted(int(voter["voterId"]) for voter in voters)),
        )

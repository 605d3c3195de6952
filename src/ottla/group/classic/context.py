"""Who sends a request of the classic protocol, and in which version."""

from typing import Final, NamedTuple

MEMBER_ID_REQUIRED_VERSION: Final = 4
SKIP_ASSIGNMENT_VERSION: Final = 9


class ClassicRequestContext(NamedTuple):
    """What a request's header and connection say."""

    api_version: int
    client_id: str = ""
    client_host: str = ""
    """As Java writes an address: ``/127.0.0.1``."""

    @property
    def requires_known_member_id(self) -> bool:
        """JoinGroup: whether a new dynamic member first gets an id, and joins when it comes back with it."""
        return self.api_version >= MEMBER_ID_REQUIRED_VERSION

    @property
    def supports_skipping_assignment(self) -> bool:
        """JoinGroup: whether a leader can be told that the assignment stays as it is."""
        return self.api_version >= SKIP_ASSIGNMENT_VERSION

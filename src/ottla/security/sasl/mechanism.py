"""What every SASL mechanism looks like from the client's side, and how it refuses."""

from typing import Protocol

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError


class SaslError(KafkaError):
    """The other side refused us, is not who it should be, or does not follow the mechanism."""

    code = ErrorCode.SASL_AUTHENTICATION_FAILED


class SaslClient(Protocol):
    """One authentication: made → ``respond(b"")`` → ``respond`` to each challenge → ``is_complete``.

    A client that raised is spent, and one that is complete must not be asked again.
    """

    @property
    def mechanism(self) -> str:
        """The mechanism's registered name."""

    @property
    def is_complete(self) -> bool:
        """Whether our side is satisfied; what the server says to the last response is still its answer."""

    def respond(self, challenge: bytes) -> bytes | None:
        """What to send after this challenge; None if there is nothing more to say. SaslError ends it."""

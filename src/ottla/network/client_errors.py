"""What can go wrong between us and a node that we called."""

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError


class NetworkError(KafkaError):
    """The connection was lost, or never came to be; whether the node acted on a request is unknown."""

    code = ErrorCode.NETWORK_EXCEPTION
    retriable = True


class RequestTimedOutError(NetworkError):
    """No answer in time. As Apache does, the connection has been closed if the request was on its way."""

    code = ErrorCode.REQUEST_TIMED_OUT


class CorrelationIdMismatchError(NetworkError):
    """An answer to another request than the oldest: nothing on this connection can be trusted any more."""


class AuthenticationError(KafkaError):
    """The node refused who we are, or we it. Trying again with the same credentials does not help."""

    code = ErrorCode.SASL_AUTHENTICATION_FAILED


class UnsupportedVersionError(KafkaError):
    """The node and we have no version of an API in common."""

    code = ErrorCode.UNSUPPORTED_VERSION

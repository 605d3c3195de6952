"""The kinds that several errors are of."""

from ottla.common.errors import KafkaError


class RetriableError(KafkaError):
    """It may work when tried again."""

    retriable = True


class InvalidMetadataError(RetriableError):
    """It may work when tried again, after a look at the cluster's metadata."""


class AuthorizationError(KafkaError):
    """We are not allowed to; trying again does not help."""

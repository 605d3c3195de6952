"""What a broker or controller says of an administrator's wishes, one class a code."""

from ottla.clients.error_kinds import AuthorizationError, InvalidMetadataError, RetriableError
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.network.client_errors import AuthenticationError


class UnknownServerError(KafkaError):
    """The broker met an error that it did not expect; its log says more."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


class BrokerNotAvailableError(KafkaError):
    """The broker is not available."""

    code = ErrorCode.BROKER_NOT_AVAILABLE


class ControllerMovedError(KafkaError):
    """Another node is the controller by now."""

    code = ErrorCode.STALE_CONTROLLER_EPOCH


class ClusterAuthorizationError(AuthorizationError):
    """We may not do this to the cluster."""

    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


class UnsupportedSaslMechanismError(AuthenticationError):
    """The broker does not offer this SASL mechanism."""

    code = ErrorCode.UNSUPPORTED_SASL_MECHANISM


class IllegalSaslStateError(AuthenticationError):
    """A request that does not belong where the authentication stands."""

    code = ErrorCode.ILLEGAL_SASL_STATE


class TopicExistsError(KafkaError):
    """There is a topic of this name already."""

    code = ErrorCode.TOPIC_ALREADY_EXISTS


class InvalidPartitionsError(KafkaError):
    """The number of partitions is not possible."""

    code = ErrorCode.INVALID_PARTITIONS


class InvalidReplicationFactorError(KafkaError):
    """The replication factor is not possible, or there are too few brokers."""

    code = ErrorCode.INVALID_REPLICATION_FACTOR


class InvalidReplicaAssignmentError(KafkaError):
    """The assignment of replicas is not possible."""

    code = ErrorCode.INVALID_REPLICA_ASSIGNMENT


class NotControllerError(RetriableError):
    """Another node is the controller."""

    code = ErrorCode.NOT_CONTROLLER


class PolicyViolationError(KafkaError):
    """A policy of the cluster forbids it."""

    code = ErrorCode.POLICY_VIOLATION


class SecurityDisabledError(KafkaError):
    """The broker has no authorizer."""

    code = ErrorCode.SECURITY_DISABLED


class OperationNotAttemptedError(KafkaError):
    """Not attempted, because something else in the request was refused."""

    code = ErrorCode.OPERATION_NOT_ATTEMPTED


class ReassignmentInProgressError(KafkaError):
    """The partition is being reassigned."""

    code = ErrorCode.REASSIGNMENT_IN_PROGRESS


class DelegationTokenDisabledError(KafkaError):
    """Delegation tokens are not enabled."""

    code = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


class DelegationTokenNotFoundError(KafkaError):
    """The server does not know this delegation token."""

    code = ErrorCode.DELEGATION_TOKEN_NOT_FOUND


class DelegationTokenOwnerMismatchError(KafkaError):
    """The delegation token belongs to somebody else."""

    code = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH


class UnsupportedByAuthenticationError(KafkaError):
    """Delegation tokens are not for connections that are authenticated like this one."""

    code = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


class DelegationTokenAuthorizationError(AuthorizationError):
    """We may not use this delegation token."""

    code = ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED


class DelegationTokenExpiredError(KafkaError):
    """The delegation token has expired."""

    code = ErrorCode.DELEGATION_TOKEN_EXPIRED


class InvalidPrincipalTypeError(KafkaError):
    """Principals of this type are not supported."""

    code = ErrorCode.INVALID_PRINCIPAL_TYPE


class TopicDeletionDisabledError(KafkaError):
    """The broker does not allow topics to be deleted."""

    code = ErrorCode.TOPIC_DELETION_DISABLED


class StaleBrokerEpochError(KafkaError):
    """The broker has registered anew since."""

    code = ErrorCode.STALE_BROKER_EPOCH


class PreferredLeaderNotAvailableError(InvalidMetadataError):
    """The preferred leader is not available."""

    code = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


class EligibleLeadersNotAvailableError(InvalidMetadataError):
    """No replica can be made the leader."""

    code = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


class ElectionNotNeededError(InvalidMetadataError):
    """The partition has the leader already that the election would give it."""

    code = ErrorCode.ELECTION_NOT_NEEDED


class NoReassignmentInProgressError(KafkaError):
    """The partition is not being reassigned."""

    code = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


class ThrottlingQuotaExceededError(RetriableError):
    """The quota is used up for now."""

    code = ErrorCode.THROTTLING_QUOTA_EXCEEDED


class ResourceNotFoundError(KafkaError):
    """What was asked about does not exist."""

    code = ErrorCode.RESOURCE_NOT_FOUND


class DuplicateResourceError(KafkaError):
    """The request names something twice, or it exists already."""

    code = ErrorCode.DUPLICATE_RESOURCE


class UnacceptableCredentialError(KafkaError):
    """The credential does not meet the rules."""

    code = ErrorCode.UNACCEPTABLE_CREDENTIAL


class InconsistentVoterSetError(KafkaError):
    """The voter is not among the voters that the others know."""

    code = ErrorCode.INCONSISTENT_VOTER_SET


class InvalidUpdateVersionError(KafkaError):
    """The version is not one that can be updated to."""

    code = ErrorCode.INVALID_UPDATE_VERSION


class FeatureUpdateFailedError(KafkaError):
    """The feature cannot be set to this level."""

    code = ErrorCode.FEATURE_UPDATE_FAILED


class BrokerIdNotRegisteredError(KafkaError):
    """No broker of this id is registered."""

    code = ErrorCode.BROKER_ID_NOT_REGISTERED


class InconsistentClusterIdError(KafkaError):
    """The node belongs to another cluster."""

    code = ErrorCode.INCONSISTENT_CLUSTER_ID


class MismatchedEndpointTypeError(KafkaError):
    """A broker was asked as a controller, or the other way round."""

    code = ErrorCode.MISMATCHED_ENDPOINT_TYPE


class UnsupportedEndpointTypeError(KafkaError):
    """Endpoints of this type are not supported."""

    code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE


class UnknownControllerIdError(KafkaError):
    """No controller of this id is known."""

    code = ErrorCode.UNKNOWN_CONTROLLER_ID


class InvalidVoterKeyError(KafkaError):
    """No voter has this id and directory."""

    code = ErrorCode.INVALID_VOTER_KEY


class DuplicateVoterError(KafkaError):
    """The voter is in the set already."""

    code = ErrorCode.DUPLICATE_VOTER


class VoterNotFoundError(KafkaError):
    """The voter is not in the set."""

    code = ErrorCode.VOTER_NOT_FOUND


class RebootstrapRequiredError(KafkaError):
    """The broker asks the client to begin again with its bootstrap servers."""

    code = ErrorCode.REBOOTSTRAP_REQUIRED

"""The admin client: everything that can be asked of a cluster and changed in it, with plain dataclasses back.

Methods on one thing raise; methods on several give a result for each of them and raise the first error, or with
``raise_errors=False`` give errors as values. Names are imported when they are used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.clients.admin.acl_operation import AclOperation
    from ottla.clients.admin.acls import AclBinding, AclBindingFilter, AclPermissionType, PatternType, ResourceType
    from ottla.clients.admin.admin import Admin
    from ottla.clients.admin.cluster import ApiVersionsDescription, ClusterDescription, ClusterNode
    from ottla.clients.admin.configs import (
        AlterConfigOp,
        AlterConfigOpType,
        ConfigEntry,
        ConfigResource,
        ConfigResourceType,
        ConfigSynonym,
    )
    from ottla.clients.admin.elections import ElectionType
    from ottla.clients.admin.features import FeatureMetadata, FeatureUpdate, FeatureUpgradeType
    from ottla.clients.admin.group_descriptions import (
        ClassicGroupDescription,
        ConsumerGroupDescription,
        MemberDescription,
    )
    from ottla.clients.admin.groups import GroupListing, GroupState, GroupType, MemberToRemove
    from ottla.clients.admin.log_dirs import LogDirDescription, ReplicaInfo, TopicPartitionReplica
    from ottla.clients.admin.offsets import IsolationLevel, ListedOffset, OffsetSpec
    from ottla.clients.admin.partitions import DeletedRecords, NewPartitions
    from ottla.clients.admin.producers import FencedProducer, ProducerState
    from ottla.clients.admin.quorum import QuorumInfo, RaftVoterEndpoint, ReplicaState
    from ottla.clients.admin.quotas import ClientQuotaEntity, ClientQuotaFilterComponent, quota_entity
    from ottla.clients.admin.reassignments import PartitionReassignment
    from ottla.clients.admin.scram import (
        ScramCredentialInfo,
        ScramMechanism,
        UserScramCredentialAlteration,
        UserScramCredentialDeletion,
        UserScramCredentialUpsertion,
    )
    from ottla.clients.admin.tokens import DelegationToken
    from ottla.clients.admin.topic_descriptions import PartitionDescription, TopicDescription
    from ottla.clients.admin.topics import CreatedTopic, NewTopic, TopicListing
    from ottla.clients.admin.transactions import (
        AbortTransactionSpec,
        TransactionDescription,
        TransactionListing,
        TransactionState,
    )
    from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
    from ottla.common.kafka_principal import KafkaPrincipal
    from ottla.common.topic_partition import TopicPartition
    from ottla.config.config_entry import ConfigSource
    from ottla.config.values import ConfigType

__all__ = [
    "AbortTransactionSpec",
    "AclBinding",
    "AclBindingFilter",
    "AclOperation",
    "AclPermissionType",
    "Admin",
    "AlterConfigOp",
    "AlterConfigOpType",
    "ApiVersionsDescription",
    "ClassicGroupDescription",
    "ClientQuotaEntity",
    "ClientQuotaFilterComponent",
    "ClusterDescription",
    "ClusterNode",
    "ConfigEntry",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigType",
    "ConsumerGroupDescription",
    "CreatedTopic",
    "DelegationToken",
    "DeletedRecords",
    "ElectionType",
    "FeatureMetadata",
    "FeatureUpdate",
    "FeatureUpgradeType",
    "FencedProducer",
    "GroupListing",
    "GroupState",
    "GroupType",
    "IsolationLevel",
    "KafkaPrincipal",
    "ListedOffset",
    "LogDirDescription",
    "MemberDescription",
    "MemberToRemove",
    "NewPartitions",
    "NewTopic",
    "OffsetAndMetadata",
    "OffsetSpec",
    "PartitionDescription",
    "PartitionReassignment",
    "PatternType",
    "ProducerState",
    "QuorumInfo",
    "RaftVoterEndpoint",
    "ReplicaInfo",
    "ReplicaState",
    "ResourceType",
    "ScramCredentialInfo",
    "ScramMechanism",
    "TopicDescription",
    "TopicListing",
    "TopicPartition",
    "TopicPartitionReplica",
    "TransactionDescription",
    "TransactionListing",
    "TransactionState",
    "UserScramCredentialAlteration",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
    "quota_entity",
]

_MODULES: Final = {
    "ottla.clients.admin.acl_operation": ("AclOperation",),
    "ottla.clients.admin.acls": ("AclBinding", "AclBindingFilter", "AclPermissionType", "PatternType", "ResourceType"),
    "ottla.clients.admin.admin": ("Admin",),
    "ottla.clients.admin.cluster": ("ApiVersionsDescription", "ClusterDescription", "ClusterNode"),
    "ottla.clients.admin.configs": (
        "AlterConfigOp",
        "AlterConfigOpType",
        "ConfigEntry",
        "ConfigResource",
        "ConfigResourceType",
        "ConfigSynonym",
    ),
    "ottla.clients.admin.elections": ("ElectionType",),
    "ottla.clients.admin.features": ("FeatureMetadata", "FeatureUpdate", "FeatureUpgradeType"),
    "ottla.clients.admin.group_descriptions": (
        "ClassicGroupDescription",
        "ConsumerGroupDescription",
        "MemberDescription",
    ),
    "ottla.clients.admin.groups": ("GroupListing", "GroupState", "GroupType", "MemberToRemove"),
    "ottla.clients.admin.log_dirs": ("LogDirDescription", "ReplicaInfo", "TopicPartitionReplica"),
    "ottla.clients.admin.offsets": ("IsolationLevel", "ListedOffset", "OffsetSpec"),
    "ottla.clients.admin.partitions": ("DeletedRecords", "NewPartitions"),
    "ottla.clients.admin.producers": ("FencedProducer", "ProducerState"),
    "ottla.clients.admin.quorum": ("QuorumInfo", "RaftVoterEndpoint", "ReplicaState"),
    "ottla.clients.admin.quotas": ("ClientQuotaEntity", "ClientQuotaFilterComponent", "quota_entity"),
    "ottla.clients.admin.reassignments": ("PartitionReassignment",),
    "ottla.clients.admin.scram": (
        "ScramCredentialInfo",
        "ScramMechanism",
        "UserScramCredentialAlteration",
        "UserScramCredentialDeletion",
        "UserScramCredentialUpsertion",
    ),
    "ottla.clients.admin.tokens": ("DelegationToken",),
    "ottla.clients.admin.topic_descriptions": ("PartitionDescription", "TopicDescription"),
    "ottla.clients.admin.topics": ("CreatedTopic", "NewTopic", "TopicListing"),
    "ottla.clients.admin.transactions": (
        "AbortTransactionSpec",
        "TransactionDescription",
        "TransactionListing",
        "TransactionState",
    ),
    "ottla.clients.consumer.offset_and_metadata": ("OffsetAndMetadata",),
    "ottla.common.kafka_principal": ("KafkaPrincipal",),
    "ottla.common.topic_partition": ("TopicPartition",),
    "ottla.config.config_entry": ("ConfigSource",),
    "ottla.config.values": ("ConfigType",),
}
_PLACES: Final = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import what is asked for: who needs a dataclass does not need the network."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)

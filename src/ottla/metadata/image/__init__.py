"""The metadata image, immutable, and the delta that makes the next one."""

from ottla.metadata.broker_registration import BrokerRegistration
from ottla.metadata.controller_registration import ControllerRegistration
from ottla.metadata.endpoint import Endpoint
from ottla.metadata.image.acls import AclsDelta, AclsImage, StandardAcl
from ottla.metadata.image.client_quotas import ClientQuotaEntity, ClientQuotasDelta, ClientQuotasImage
from ottla.metadata.image.cluster import ClusterDelta, ClusterImage
from ottla.metadata.image.configs import ConfigResource, ConfigResourceType, ConfigsDelta, ConfigsImage
from ottla.metadata.image.delegation_tokens import DelegationTokenData, DelegationTokensDelta, DelegationTokensImage
from ottla.metadata.image.features import FeaturesDelta, FeaturesImage
from ottla.metadata.image.local_replica_changes import LocalReplicaChanges, PartitionInfo, TopicIdPartition
from ottla.metadata.image.metadata import EMPTY_IMAGE, MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.image.producer_ids import ProducerIdsDelta, ProducerIdsImage
from ottla.metadata.image.provenance import MetadataProvenance
from ottla.metadata.image.scram import ScramCredentialData, ScramDelta, ScramImage, ScramMechanism
from ottla.metadata.image.topics import TopicImage, TopicsImage
from ottla.metadata.image.topics_delta import TopicDelta, TopicsDelta
from ottla.metadata.image_writer_options import ImageWriterOptions, UnwritableMetadataError
from ottla.metadata.partition_registration import LeaderRecoveryState, PartitionRegistration

__all__ = [
    "EMPTY_IMAGE",
    "AclsDelta",
    "AclsImage",
    "BrokerRegistration",
    "ClientQuotaEntity",
    "ClientQuotasDelta",
    "ClientQuotasImage",
    "ClusterDelta",
    "ClusterImage",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigsDelta",
    "ConfigsImage",
    "ControllerRegistration",
    "DelegationTokenData",
    "DelegationTokensDelta",
    "DelegationTokensImage",
    "Endpoint",
    "FeaturesDelta",
    "FeaturesImage",
    "ImageWriterOptions",
    "LeaderRecoveryState",
    "LocalReplicaChanges",
    "MetadataDelta",
    "MetadataImage",
    "MetadataProvenance",
    "PartitionInfo",
    "PartitionRegistration",
    "ProducerIdsDelta",
    "ProducerIdsImage",
    "ScramCredentialData",
    "ScramDelta",
    "ScramImage",
    "ScramMechanism",
    "StandardAcl",
    "TopicDelta",
    "TopicIdPartition",
    "TopicImage",
    "TopicsDelta",
    "TopicsImage",
    "UnwritableMetadataError",
]

"""Changes to a cluster's metadata: records replayed on an image."""

from collections.abc import Callable
from typing import Any, Final

from ottla.metadata import records as r
from ottla.metadata.image.acls import AclsDelta
from ottla.metadata.image.client_quotas import ClientQuotasDelta
from ottla.metadata.image.cluster import ClusterDelta
from ottla.metadata.image.configs import ConfigsDelta
from ottla.metadata.image.delegation_tokens import DelegationTokensDelta
from ottla.metadata.image.features import FeaturesDelta
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.producer_ids import ProducerIdsDelta
from ottla.metadata.image.provenance import MetadataProvenance
from ottla.metadata.image.scram import ScramDelta
from ottla.metadata.image.topics_delta import TopicsDelta
from ottla.metadata.metadata_version import MetadataVersion


class MetadataDelta:
    """What records change in ``image``. A part that no record touched has the delta None.

    Replaying raises ValueError for a record that does not fit the image, a sign of a damaged log. Records of
    transactions are not replayed here: :mod:`ottla.metadata.loader` decides with them.
    """

    __slots__ = (
        "_is_supported_config",
        "acls_delta",
        "client_quotas_delta",
        "cluster_delta",
        "configs_delta",
        "delegation_tokens_delta",
        "features_delta",
        "image",
        "producer_ids_delta",
        "scram_delta",
        "topics_delta",
    )

    def __init__(self, image: MetadataImage, is_supported_config: Callable[[int, str], bool] | None = None) -> None:
        self.image = image
        self._is_supported_config = is_supported_config
        self.features_delta: FeaturesDelta | None = None
        self.cluster_delta: ClusterDelta | None = None
        self.topics_delta: TopicsDelta | None = None
        self.configs_delta: ConfigsDelta | None = None
        self.client_quotas_delta: ClientQuotasDelta | None = None
        self.producer_ids_delta: ProducerIdsDelta | None = None
        self.acls_delta: AclsDelta | None = None
        self.scram_delta: ScramDelta | None = None
        self.delegation_tokens_delta: DelegationTokensDelta | None = None

    @classmethod
    def from_empty(cls, image: MetadataImage) -> "MetadataDelta":
        """The delta that leads from an empty image to ``image``, as replaying all its records gives, without them."""
        delta = cls(MetadataImage())
        features = delta._features()
        features.changes.update(image.features.finalized_versions)
        features.metadata_version_change = image.features.metadata_version_or_none
        cluster = delta._cluster()
        cluster.changed_brokers.update(image.cluster.brokers)
        cluster.changed_controllers.update(image.cluster.controllers)
        delta._topics().create_all(image.topics)
        delta._configs().changes.update({key: dict(entries) for key, entries in image.configs.resources.items()})
        delta._client_quotas().changes.update(
            {key: dict(quotas) for key, quotas in image.client_quotas.entities.items()}
        )
        delta._producer_ids().next_producer_id = image.producer_ids.next_producer_id
        delta._acls().changes.update(image.acls.acls)
        delta._scram().changes.update({key: dict(users) for key, users in image.scram.mechanisms.items()})
        delta._delegation_tokens().changes.update(image.delegation_tokens.tokens)
        return delta

    @property
    def metadata_version_changed(self) -> MetadataVersion | None:
        """The metadata.version that the records set, if they did."""
        return None if self.features_delta is None else self.features_delta.metadata_version_change

    def replay(self, record: r.MetadataRecord) -> None:
        """Change what the record says."""
        replay = _REPLAY.get(type(record))
        if replay is None:
            raise ValueError(f"Unknown metadata record type {type(record).__name__}")
        replay(self, record)

    def finish_snapshot(self) -> None:
        """All records of a snapshot were replayed: what they did not mention is gone."""
        self._features().finish_snapshot()
        self._cluster().finish_snapshot()
        self._topics().finish_snapshot()
        self._configs().finish_snapshot()
        self._client_quotas().finish_snapshot()
        self._producer_ids().finish_snapshot()
        self._acls().finish_snapshot()
        self._scram().finish_snapshot()
        self._delegation_tokens().finish_snapshot()

    def apply(self, provenance: MetadataProvenance) -> MetadataImage:
        """The image after the changes."""
        image = self.image
        return MetadataImage(
            provenance,
            image.features if self.features_delta is None else self.features_delta.apply(),
            image.cluster if self.cluster_delta is None else self.cluster_delta.apply(),
            image.topics if self.topics_delta is None else self.topics_delta.apply(),
            image.configs if self.configs_delta is None else self.configs_delta.apply(),
            image.client_quotas if self.client_quotas_delta is None else self.client_quotas_delta.apply(),
            image.producer_ids if self.producer_ids_delta is None else self.producer_ids_delta.apply(),
            image.acls if self.acls_delta is None else self.acls_delta.apply(),
            image.scram if self.scram_delta is None else self.scram_delta.apply(),
            image.delegation_tokens if self.delegation_tokens_delta is None else self.delegation_tokens_delta.apply(),
        )

    def _features(self) -> FeaturesDelta:
        if self.features_delta is None:
            self.features_delta = FeaturesDelta(self.image.features)
        return self.features_delta

    def _cluster(self) -> ClusterDelta:
        if self.cluster_delta is None:
            self.cluster_delta = ClusterDelta(self.image.cluster)
        return self.cluster_delta

    def _topics(self) -> TopicsDelta:
        if self.topics_delta is None:
            self.topics_delta = TopicsDelta(self.image.topics)
        return self.topics_delta

    def _configs(self) -> ConfigsDelta:
        if self.configs_delta is None:
            self.configs_delta = ConfigsDelta(self.image.configs, self._is_supported_config)
        return self.configs_delta

    def _client_quotas(self) -> ClientQuotasDelta:
        if self.client_quotas_delta is None:
            self.client_quotas_delta = ClientQuotasDelta(self.image.client_quotas)
        return self.client_quotas_delta

    def _producer_ids(self) -> ProducerIdsDelta:
        if self.producer_ids_delta is None:
            self.producer_ids_delta = ProducerIdsDelta(self.image.producer_ids)
        return self.producer_ids_delta

    def _acls(self) -> AclsDelta:
        if self.acls_delta is None:
            self.acls_delta = AclsDelta(self.image.acls)
        return self.acls_delta

    def _scram(self) -> ScramDelta:
        if self.scram_delta is None:
            self.scram_delta = ScramDelta(self.image.scram)
        return self.scram_delta

    def _delegation_tokens(self) -> DelegationTokensDelta:
        if self.delegation_tokens_delta is None:
            self.delegation_tokens_delta = DelegationTokensDelta(self.image.delegation_tokens)
        return self.delegation_tokens_delta

    def _replay_remove_topic(self, record: r.RemoveTopicRecord) -> None:
        """A topic's configuration goes with it."""
        self._configs().replay_remove_topic(self._topics().replay_remove_topic(record))

    def _ignore(self, record: r.MetadataRecord) -> None:
        """The record changes nothing but the offset."""


_REPLAY: Final[dict[type[r.MetadataRecord], Callable[[MetadataDelta, Any], object]]] = {
    r.RegisterBrokerRecord: lambda delta, record: delta._cluster().replay_register_broker(record),
    r.UnregisterBrokerRecord: lambda delta, record: delta._cluster().replay_unregister_broker(record),
    r.RegisterControllerRecord: lambda delta, record: delta._cluster().replay_register_controller(record),
    r.FenceBrokerRecord: lambda delta, record: delta._cluster().replay_fence(record),
    r.UnfenceBrokerRecord: lambda delta, record: delta._cluster().replay_unfence(record),
    r.BrokerRegistrationChangeRecord: lambda delta, record: delta._cluster().replay_change(record),
    r.TopicRecord: lambda delta, record: delta._topics().replay_topic(record),
    r.PartitionRecord: lambda delta, record: delta._topics().replay_partition(record),
    r.PartitionChangeRecord: lambda delta, record: delta._topics().replay_partition_change(record),
    r.ClearElrRecord: lambda delta, record: delta._topics().replay_clear_elr(record),
    r.RemoveTopicRecord: MetadataDelta._replay_remove_topic,
    r.ConfigRecord: lambda delta, record: delta._configs().replay(record),
    r.FeatureLevelRecord: lambda delta, record: delta._features().replay(record),
    r.ClientQuotaRecord: lambda delta, record: delta._client_quotas().replay(record),
    r.ProducerIdsRecord: lambda delta, record: delta._producer_ids().replay(record),
    r.AccessControlEntryRecord: lambda delta, record: delta._acls().replay(record),
    r.RemoveAccessControlEntryRecord: lambda delta, record: delta._acls().replay_remove(record),
    r.UserScramCredentialRecord: lambda delta, record: delta._scram().replay(record),
    r.RemoveUserScramCredentialRecord: lambda delta, record: delta._scram().replay_remove(record),
    r.DelegationTokenRecord: lambda delta, record: delta._delegation_tokens().replay(record),
    r.RemoveDelegationTokenRecord: lambda delta, record: delta._delegation_tokens().replay_remove(record),
    r.NoOpRecord: MetadataDelta._ignore,
    r.ZkMigrationStateRecord: MetadataDelta._ignore,
}

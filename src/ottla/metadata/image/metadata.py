"""All of a cluster's metadata at one offset of the log."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ottla.metadata.image.acls import AclsImage
from ottla.metadata.image.client_quotas import ClientQuotasImage
from ottla.metadata.image.cluster import ClusterImage
from ottla.metadata.image.configs import ConfigsImage
from ottla.metadata.image.delegation_tokens import DelegationTokensImage
from ottla.metadata.image.features import FeaturesImage
from ottla.metadata.image.producer_ids import ProducerIdsImage
from ottla.metadata.image.provenance import MetadataProvenance
from ottla.metadata.image.scram import ScramImage
from ottla.metadata.image.topics import TopicsImage
from ottla.metadata.image_writer_options import ImageWriterOptions, UnwritableMetadataError
from ottla.metadata.metadata_version import MetadataVersion
from ottla.metadata.records import MetadataRecord


@dataclass(frozen=True, slots=True)
class MetadataImage:
    """An immutable image; a :class:`MetadataDelta` makes the next one, which shares what did not change.

    ``MetadataImage()`` is the image of an empty log.
    """

    provenance: MetadataProvenance = field(default_factory=MetadataProvenance)
    features: FeaturesImage = field(default_factory=FeaturesImage)
    cluster: ClusterImage = field(default_factory=ClusterImage)
    topics: TopicsImage = field(default_factory=TopicsImage)
    configs: ConfigsImage = field(default_factory=ConfigsImage)
    client_quotas: ClientQuotasImage = field(default_factory=ClientQuotasImage)
    producer_ids: ProducerIdsImage = field(default_factory=ProducerIdsImage)
    acls: AclsImage = field(default_factory=AclsImage)
    scram: ScramImage = field(default_factory=ScramImage)
    delegation_tokens: DelegationTokensImage = field(default_factory=DelegationTokensImage)

    @property
    def is_empty(self) -> bool:
        """Whether the image holds no metadata, whatever its provenance."""
        return (
            self.features.is_empty
            and self.cluster.is_empty
            and self.topics.is_empty
            and self.configs.is_empty
            and self.client_quotas.is_empty
            and self.producer_ids.is_empty
            and self.acls.is_empty
            and self.scram.is_empty
            and self.delegation_tokens.is_empty
        )

    @property
    def offset(self) -> int:
        """The offset of the last record in the image."""
        return self.provenance.last_contained_offset

    def records(
        self,
        metadata_version: MetadataVersion | None = None,
        on_loss: Callable[[UnwritableMetadataError], None] | None = None,
    ) -> Iterator[MetadataRecord]:
        """The records of a snapshot, in Apache's order; replayed on an empty image they give this one.

        They are for ``metadata_version``, else for the image's own. What that cannot express goes to ``on_loss``;
        without it UnwritableMetadataError is raised.
        """
        options = ImageWriterOptions(
            self.features.metadata_version if metadata_version is None else metadata_version,
            self.features.is_elr_enabled,
            on_loss,
        )
        yield from self.features.records(options)
        yield from self.cluster.records(options)
        yield from self.topics.records(options)
        yield from self.configs.records()
        yield from self.client_quotas.records()
        yield from self.producer_ids.records()
        yield from self.acls.records()
        yield from self.scram.records(options)
        yield from self.delegation_tokens.records(options)


EMPTY_IMAGE = MetadataImage()

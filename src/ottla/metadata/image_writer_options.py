"""At which levels an image is written as records, and what happens to what they cannot express."""

from collections.abc import Callable
from dataclasses import dataclass

from ottla.metadata.metadata_version import MetadataVersion


class UnwritableMetadataError(Exception):
    """The image holds something that the metadata.version cannot express."""

    def __init__(self, metadata_version: MetadataVersion, loss: str) -> None:
        super().__init__(
            f"Metadata has been lost because the following could not be represented in metadata.version "
            f"{metadata_version}: {loss}"
        )
        self.metadata_version = metadata_version
        self.loss = loss


@dataclass(frozen=True, slots=True)
class ImageWriterOptions:
    """Without ``on_loss``, what cannot be written raises :class:`UnwritableMetadataError`."""

    metadata_version: MetadataVersion
    elr_enabled: bool = False
    on_loss: Callable[[UnwritableMetadataError], None] | None = None

    def handle_loss(self, loss: str) -> None:
        """Report that ``loss`` is not going to be in the records."""
        error = UnwritableMetadataError(self.metadata_version, loss)
        if self.on_loss is None:
            raise error
        self.on_loss(error)

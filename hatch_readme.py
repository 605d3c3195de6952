"""The README as a package index shows it: what it links to is not there, so its links go to the repository.

In a checkout the README links to the files beside it; on the index, to the same files as they were in this version.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)\)")


class PublishedReadme(MetadataHookInterface):
    """Makes the field ``readme`` of the project's metadata."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Read the README and give it the links for this version."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        files = f"{metadata['urls']['Repository']}/blob/v{metadata['version']}"
        metadata["readme"] = {"content-type": "text/markdown", "text": with_absolute_links(text, files)}


def with_absolute_links(markdown: str, files: str) -> str:
    """The text with each relative link made one below the address ``files``; anchors and full addresses stay."""
    return _RELATIVE_LINK.sub(rf"]({files}/\1)", markdown)

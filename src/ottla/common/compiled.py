"""Whether this Ottla's hot path is compiled (decision 0016)."""

from importlib.machinery import ExtensionFileLoader, PathFinder
from typing import Final

from ottla.common import __path__ as room

HOT_MODULE: Final = "ottla.common.java_hash"
"""A module that a compiled Ottla has as an extension; the build makes all of them or fails, so one tells."""


def is_compiled() -> bool:
    """Whether Python would load the hot path from extension modules; nothing of it is imported to find out."""
    spec = PathFinder.find_spec(HOT_MODULE, room)
    return spec is not None and isinstance(spec.loader, ExtensionFileLoader)

"""The checksum of batches, CRC-32C: the C function of the package crc32c, without what its import costs.

That package asks for its own version when it is imported, and Python looks for it in every archive on the path, which
has Spark's jars in each Python process that Spark starts: 0.15 s of each, for a number that nobody reads.
"""

from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING, Final

__all__ = ["crc32c"]

_PACKAGE: Final = "crc32c"
_EXTENSION: Final = "_crc32c"


def _loaded() -> ModuleType:
    """The extension by itself; the package if that is made otherwise one day."""
    package = PathFinder.find_spec(_PACKAGE)
    if package is not None and package.submodule_search_locations is not None:
        extension = PathFinder.find_spec(_EXTENSION, package.submodule_search_locations)
        if extension is not None and extension.loader is not None:
            module = module_from_spec(extension)
            extension.loader.exec_module(module)
            return module
    import crc32c

    return crc32c


if TYPE_CHECKING:
    from crc32c import crc32c
else:
    crc32c = _loaded().crc32c

"""Which Ottla this is: its version, whether its hot path is compiled (decision 0016), and the Python it runs on."""

import sys
from importlib.machinery import ExtensionFileLoader, PathFinder
from typing import Final

from ottla import __path__ as package_path
from ottla import __version__

HOT_MODULE: Final = "ottla.records.batch"
"""A module that a compiled Ottla has as an extension; the build makes all of them or fails, so one tells."""


def is_compiled() -> bool:
    """Whether Python would load the hot path from extension modules; nothing of it is imported to find out."""
    room = HOT_MODULE.split(".")[1]
    spec = PathFinder.find_spec(HOT_MODULE, [f"{directory}/{room}" for directory in package_path])
    return spec is not None and isinstance(spec.loader, ExtensionFileLoader)


def version_line() -> str:
    """What ``--version`` prints: ``ottla 0.1.0 (compiled, Python 3.11.2)`` or ``ottla 0.1.0 (plain Python 3.11.2)``."""
    python = "Python {}.{}.{}".format(*sys.version_info)
    return f"ottla {__version__} ({f'compiled, {python}' if is_compiled() else f'plain {python}'})"

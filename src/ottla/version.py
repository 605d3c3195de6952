"""Which Ottla this is: its version, whether its hot path is compiled, and the Python it runs on."""

import sys

from ottla import __version__
from ottla.common.compiled import is_compiled


def version_line() -> str:
    """What ``--version`` prints: ``ottla 0.1.0 (compiled, Python 3.11.2)`` or ``ottla 0.1.0 (plain Python 3.11.2)``."""
    python = "Python {}.{}.{}".format(*sys.version_info)
    return f"ottla {__version__} ({f'compiled, {python}' if is_compiled() else f'plain {python}'})"

"""How to install what an optional part of Ottla needs: in the environment that runs, from wherever Ottla came."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any
from urllib.parse import unquote, urlsplit

from ottla.common.compiled import is_compiled
from ottla.common.errors import KafkaError


class MissingExtraError(KafkaError, ImportError):
    """What was asked for needs a library that is not installed; the message says how to install it."""


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Around imports that ``what`` needs: MissingExtraError in place of "No module named …"."""
    try:
        yield
    except ImportError as missing:
        message = f"{what} needs {missing.name}, which is not installed: {how_to_install(extra)}"
        raise MissingExtraError(message) from None


def how_to_install(extra: str) -> str:
    """A command that can be pasted: it installs Ottla once more, from where it came, with ``extra``."""
    try:
        said = distribution("ottla").read_text("direct_url.json")  # PEP 610: there unless an index was asked
    except PackageNotFoundError:  # imported from an archive or a path; an index is the best guess
        said = None
    origin = json.loads(said) if said is not None else None
    # Built once more, a compiled Ottla would be plain Python without that.
    compiling = "HATCH_BUILD_HOOKS_ENABLE=1 " if pip_builds(origin) and is_compiled() else ""
    return f"{compiling}{shlex.quote(sys.executable)} -m pip install {pip_arguments(extra, origin)}"


def pip_builds(origin: dict[str, Any] | None) -> bool:
    """Whether pip makes a wheel of what is there, instead of taking one; ``origin`` as for :func:`pip_arguments`."""
    return origin is not None and not origin["url"].endswith(".whl")


def pip_arguments(extra: str, origin: dict[str, Any] | None) -> str:
    """What pip is asked for; ``origin`` is the contents of direct_url.json, None for a package from an index."""
    if origin is None:
        return f"'ottla[{extra}]'"
    url = origin["url"]
    if origin.get("dir_info", {}).get("editable"):
        return f"-e {shlex.quote(f'{unquote(urlsplit(url).path)}[{extra}]')}"
    if "vcs_info" in origin:
        url = f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
    return shlex.quote(f"ottla[{extra}] @ {url}")

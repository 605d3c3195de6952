"""Where interop tests write, and which of them run.

A test that takes `kafka_cluster` runs against Ottla's and, where OTTLA_APACHE_HALF=1 says so, against Apache's.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.cluster import select_halves

_MEMORY = Path("/dev/shm")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect Apache's half unless it is wanted, mark what needs Java, and keep a module on one worker of xdist."""
    for item in select_halves(config, items, "kafka_cluster"):
        parameters = item.callspec.params  # type: ignore[attr-defined]
        if {"apache", "java"} & set(map(str, parameters.values())) or item.get_closest_marker("oracle"):
            item.add_marker(pytest.mark.oracle)
            item.add_marker(pytest.mark.xdist_group("oracle"))
        elif "oracle" not in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("python-clients"))


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """An empty directory, in memory where the machine has such: the logs here sync often, and no test needs that."""
    if not _MEMORY.is_dir():
        yield tmp_path
        return
    path = Path(tempfile.mkdtemp(prefix="ottla-interop-", dir=_MEMORY))
    yield path
    shutil.rmtree(path)

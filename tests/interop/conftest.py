"""Where interop tests write, and which of them run.

A test that takes `kafka_cluster` runs against Ottla's and, where OTTLA_APACHE_HALF=1 says so, against Apache's.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect Apache's half unless it is wanted, mark what needs Java, and keep a module on one worker of xdist."""
    deselected = []
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if "kafka_cluster" not in parameters:
            continue
        if parameters["kafka_cluster"] == "apache" and os.environ.get("OTTLA_APACHE_HALF") != "1":
            deselected.append(item)
        elif {"apache", "java"} & set(map(str, parameters.values())) or item.get_closest_marker("oracle"):
            item.add_marker(pytest.mark.oracle)
            item.add_marker(pytest.mark.xdist_group("oracle"))
        elif "oracle" not in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("python-clients"))
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if item not in deselected]


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """An empty directory, in memory where the machine has such: the logs here sync often, and no test needs that."""
    if not _MEMORY.is_dir():
        yield tmp_path
        return
    path = Path(tempfile.mkdtemp(prefix="ottla-interop-", dir=_MEMORY))
    yield path
    shutil.rmtree(path)

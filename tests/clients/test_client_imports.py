"""Importing the clients is cheap, and every name that they promise is there."""

import subprocess
import sys

import pytest

import ottla
import ottla.clients
import ottla.clients.sync

PATIENCE_S = 60
HEAVY = ("asyncio", "ssl", "numpy", "numba", "pyarrow", "rich", "ottla.config", "ottla.network", "ottla.protocol")


def loaded_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    command = [sys.executable, "-c", code]
    return set(subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout.split())


@pytest.mark.parametrize("statement", ["import ottla", "import ottla.clients", "import ottla.clients.sync"])
def test_importing_loads_nothing_heavy(statement: str) -> None:
    assert not loaded_after(statement) & set(HEAVY)


@pytest.mark.parametrize("name", ["Producer", "Consumer", "Admin"])
def test_a_client_loads_no_library_that_it_may_not_need(name: str) -> None:
    loaded = loaded_after(f"from ottla import {name}")
    assert not loaded & {"numpy", "numba", "pyarrow", "rich", "ssl"} - loaded_after("import asyncio")


@pytest.mark.parametrize("module", [ottla.clients, ottla.clients.sync], ids=lambda module: module.__name__)
def test_every_promised_name_is_there(module: object) -> None:
    for name in module.__all__:  # type: ignore[attr-defined]
        assert getattr(module, name).__name__ == name
        assert name in dir(module)


def test_an_unknown_name_is_an_attribute_error() -> None:
    for module in (ottla, ottla.clients, ottla.clients.sync):
        with pytest.raises(AttributeError, match="Prodcuer"):
            module.Prodcuer  # noqa: B018

"""Which Ottla a user has: the extension modules beside the sources decide, as they do when Python imports."""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from ottla.common import compiled
from ottla.common.compiled import is_compiled
from ottla.version import version_line


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A room of sources, which stands where Ottla's is looked into."""
    (tmp_path / "java_hash.py").write_text("raise AssertionError('the question imports nothing')")
    monkeypatch.setattr(compiled, "room", [str(tmp_path)])
    return tmp_path


def test_sources_alone_are_plain_python(room: Path) -> None:
    assert not is_compiled()
    assert "(plain Python " in version_line()


def test_an_extension_module_beside_its_source_is_compiled(room: Path) -> None:
    (room / f"java_hash{EXTENSION_SUFFIXES[0]}").touch()
    assert is_compiled()
    assert "(compiled, Python " in version_line()


def test_an_extension_module_for_another_python_is_not(room: Path) -> None:
    (room / "java_hash.cpython-27m-x86_64-linux-gnu.so").touch()
    assert not is_compiled()

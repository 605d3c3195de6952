"""Which Ottla a user has: the extension modules beside the sources decide, as they do when Python imports."""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from ottla import version
from ottla.version import is_compiled, version_line


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of sources, which stands where Ottla's is looked for."""
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "batch.py").write_text("raise AssertionError('the question imports nothing')")
    monkeypatch.setattr(version, "package_path", [str(tmp_path)])
    return tmp_path


def test_sources_alone_are_plain_python(package: Path) -> None:
    assert not is_compiled()
    assert "(plain Python " in version_line()


def test_an_extension_module_beside_its_source_is_compiled(package: Path) -> None:
    (package / "records" / f"batch{EXTENSION_SUFFIXES[0]}").touch()
    assert is_compiled()
    assert "(compiled, Python " in version_line()


def test_an_extension_module_for_another_python_is_not(package: Path) -> None:
    (package / "records" / "batch.cpython-27m-x86_64-linux-gnu.so").touch()
    assert not is_compiled()

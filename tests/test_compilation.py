"""The hot path can be compiled with what a build has and no more; as far as can be told without a C compiler.

mypyc takes less than all of Python. And an isolated build (PEP 517) has the packages that pyproject.toml names for it,
not the developer's; `make test-compiled` makes such a build whole.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final

import pytest
from packaging.requirements import Requirement

from ottla.common.compiled import HOT_MODULE

ROOT: Final = Path(__file__).parent.parent
PYPROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())
HOOK: Final[list[str]] = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["dependencies"]


def _with_what_they_need(requirements: list[str]) -> set[str]:
    """The names of these packages and of all that they require."""
    found: set[str] = set()
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        requirement = waiting.pop()
        if requirement.name not in found and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            found.add(requirement.name)
            waiting += [Requirement(each) for each in distribution(requirement.name).requires or ()]
    return found


@pytest.fixture
def isolated(tmp_path: Path) -> Path:
    """The Python of a venv that holds what an isolated build installs, and nothing else that is installed here."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    for name in _with_what_they_need(PYPROJECT["build-system"]["requires"] + HOOK):
        files = distribution(name).files or ()
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    return tmp_path / "venv" / "bin" / "python"


def test_mypyc_translates_the_hot_path_in_isolation(tmp_path: Path, isolated: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    script = f"""
import importlib.util, sys
assert not any(importlib.util.find_spec(each) for each in ("numpy", "numba", "zstandard", "xxhash", "crc32c", "ottla"))
sys.path.append({str(ROOT)!r})
import hatch_build
hatch_build.translate()
"""
    done = subprocess.run(
        [isolated, "-P", "-c", script],
        cwd=tmp_path / "src",
        env={name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")},
        capture_output=True,
        text=True,
        check=False,
    )
    errors = "\n".join(line for line in done.stdout.splitlines() if " error: " in line)
    assert done.returncode == 0, f"{errors}\n{done.stderr}"
    assert list(tmp_path.rglob("__native_*.c"))


def test_the_compiler_is_the_one_that_is_tested() -> None:
    """Another mypy writes other C: a release is built with the version whose C `make test-compiled` has tested."""
    locked = {line.strip() for line in (ROOT / "requirements.lock").read_text().splitlines()}
    assert {each for each in HOOK if each.startswith("mypy")} <= locked


def test_what_tells_a_compiled_ottla_is_compiled() -> None:
    compiled = subprocess.run(
        [sys.executable, "-c", "import hatch_build; print(*hatch_build.COMPILED)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert HOT_MODULE.removeprefix("ottla.").replace(".", "/") in compiled


def _compile(tmp_path: Path, extensions: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The second half of a build, of these extensions in place of the translated ones."""
    (tmp_path / "x.c").write_text("int x;")
    script = f"""
import sys
from pathlib import Path
from setuptools import Extension
sys.path.append({str(ROOT)!r})
import hatch_build
hatch_build.translate = lambda: {extensions}
hatch_build._compile(Path.cwd(), Path("lib").absolute())
"""
    command = [sys.executable, "-P", "-c", script]
    return subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_a_build_without_a_compiler_fails_in_one_sentence(tmp_path: Path) -> None:
    done = _compile(tmp_path, "[Extension('x', ['x.c'])]", CC="/nowhere/cc")
    assert done.returncode == 1
    (said,) = (line for line in done.stderr.splitlines() if "not compiled" in line)
    assert "/nowhere/cc" in said
    assert "without HATCH_BUILD_HOOKS_ENABLE" in said
    assert "Errno" not in said
    assert "Traceback" not in done.stderr


def test_a_build_that_compiles_less_than_all_fails(tmp_path: Path) -> None:
    done = _compile(tmp_path, "[]")
    assert done.returncode == 1
    assert HOT_MODULE.removeprefix("ottla.").replace(".", "/") in done.stderr

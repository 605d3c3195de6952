"""The hot path can be compiled, as far as can be told without a C compiler: mypyc takes less than all of Python."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_mypyc_translates_the_hot_path(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", reason="mypyc needs setuptools, which a venv of Python 3.12 does not bring")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; sys.path.append({str(ROOT)!r}); import hatch_build; hatch_build.translate()",
        ],
        cwd=tmp_path / "src",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, "\n".join(line for line in done.stdout.splitlines() if " error: " in line)
    assert list(tmp_path.rglob("*.c"))

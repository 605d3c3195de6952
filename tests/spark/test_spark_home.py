"""A SPARK_HOME with byte code: the same modules and files, from where a worker imports them."""

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark
import pytest

from ottla.spark.spark_home import compile_archive, compiled_spark_home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    found = compiled_spark_home()
    assert found is not None
    assert compiled_spark_home() == found
    return Path(found)


def test_it_has_all_that_the_installed_one_has(home: Path) -> None:
    installed = Path(pyspark.__file__).parent
    assert (home / "bin" / "spark-submit").is_file()
    assert len(list((home / "jars").iterdir())) == len(list((installed / "jars").iterdir()))
    for archive in (installed / "python" / "lib").glob("*.zip"):
        with zipfile.ZipFile(archive) as sources:
            names = [each.filename for each in sources.infolist() if not each.is_dir()]
        compiled = home / "python" / "lib" / archive.name
        found = {each.relative_to(compiled).as_posix() for each in compiled.rglob("*") if each.is_file()}
        assert found == {f"{name}c" if name.endswith(".py") else name for name in names}


def test_a_worker_imports_byte_code_and_its_traces_show_lines(home: Path) -> None:
    path = os.pathsep.join(str(each) for each in (home / "python" / "lib").glob("*.zip"))
    program = (
        "import pyspark, pyspark.worker, pyspark.sql.streaming.python_streaming_source_runner\n"
        "from pyspark.errors import PySparkValueError\n"
        "print(pyspark.__file__)\n"
        "PySparkValueError(errorClass='NO_SUCH_CLASS', messageParameters={})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{home}/python/lib/pyspark.zip/pyspark/__init__.pyc\n"
    assert "error_classes" in done.stderr or "ErrorClassesReader" in done.stderr or "error_reader" in done.stderr


def test_a_file_that_is_not_as_it_was_compiled_is_compiled_anew(tmp_path: Path) -> None:
    package = tmp_path / "changed_package"
    package.mkdir()
    (package / "__init__.py").write_text("A = 1\n")
    environment = {"PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", "import changed_package"], env=environment, check=True)
    with zipfile.ZipFile(tmp_path / "sources.zip", "w") as sources:
        sources.writestr("changed_package/__init__.py", "A = 22\n")
    (package / "__init__.py").write_text("A = 22\n")
    compile_archive(tmp_path / "sources.zip", tmp_path / "compiled", tmp_path)
    environment = {"PYTHONPATH": str(tmp_path / "compiled")}
    done = subprocess.run(
        [sys.executable, "-c", "import changed_package as c; print(c.A)"],
        env=environment,
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"22\n"


def test_environments_have_homes_of_their_own(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One's job must not lose its archives when another's starts."""
    other = tmp_path / "other-environment" / "pyspark"
    (other / "python" / "lib").mkdir(parents=True)
    (other / "__init__.py").touch()
    with zipfile.ZipFile(other / "python" / "lib" / "pyspark.zip", "w") as archive:
        archive.writestr("pyspark/__init__.py", "")
    spec = importlib.util.spec_from_file_location("pyspark", other / "__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
    found = compiled_spark_home()
    assert found is not None and Path(found) != home
    assert (home / "python" / "lib" / "pyspark.zip" / "pyspark").is_dir()


def test_a_home_that_the_user_names_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/mine")
    assert compiled_spark_home() is None

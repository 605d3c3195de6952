"""The package on its way to executors, and a master that is not there."""

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from ottla.spark.errors import SparkUnavailableError
from ottla.spark.shipping import DIRECTORY, check_master, pack
from tests.spark.standalone import bare_python


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_python_without_ottla_imports_it_from_the_archive(tmp_path: Path) -> None:
    shipment = pack()
    executor = tmp_path / "executor"
    (executor / DIRECTORY).mkdir(parents=True)
    subprocess.run(["tar", "-xzf", shipment.archive, "-C", executor / DIRECTORY], check=True)
    python = bare_python(tmp_path / "bare")
    program = (
        "import ottla, crc32c, cramjam, fastavro, xxhash, zstandard\n"
        "from ottla.spark.scan.range_reader import read_ranges\n"
        "from ottla.spark.sink.stream_writer import make_stream_writer\n"
        "from pyspark_ottla import DefaultSource\n"
        "print(ottla.__file__, zstandard.__file__)\n"
    )
    settings = shipment.settings({})
    environment = {"PYTHONPATH": settings["spark.executorEnv.PYTHONPATH"], "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [python, "-c", program], cwd=executor, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all(each.startswith(str(executor)) for each in done.stdout.split())


def test_an_archive_is_made_again_only_when_something_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shipped_along.py").write_text("A = 1\n")
    (tmp_path / "shipped_along-1.0.dist-info").mkdir()
    (tmp_path / "shipped_along-1.0.dist-info" / "METADATA").write_text("Name: shipped-along\nVersion: 1.0\n")
    (tmp_path / "shipped_along-1.0.dist-info" / "RECORD").write_text("shipped_along.py,,\n")
    (tmp_path / "shipped_along-1.0.dist-info" / "top_level.txt").write_text("shipped_along\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    first = pack(["shipped_along"])
    assert pack(["shipped_along"]) == first
    assert (Path(first.directory) / "shipped_along.py").is_file()
    (tmp_path / "shipped_along.py").write_text("A = 22\n")
    second = pack(["shipped_along"])
    assert second != first
    with tarfile.open(second.archive) as archive:
        assert "shipped_along.py" in archive.getnames()


def test_what_is_to_be_shipped_and_is_not_here_is_named() -> None:
    with pytest.raises(SparkUnavailableError, match="no_such_package is to be shipped to the executors"):
        pack(["no_such_package"])


def test_a_path_of_the_users_stays_behind_ours() -> None:
    settings = pack().settings({"spark.executorEnv.PYTHONPATH": "/theirs"})
    assert settings["spark.executorEnv.PYTHONPATH"] == f"{DIRECTORY}:/theirs"


def test_a_master_that_does_not_answer_is_told_at_once() -> None:
    with pytest.raises(
        SparkUnavailableError, match=r"Spark's master spark://127.0.0.1:1 cannot be reached \(127.0.0.1:1:"
    ):
        check_master("spark://127.0.0.1:1")
    with pytest.raises(SparkUnavailableError, match="host is not HOST:PORT"):
        check_master("spark://host")
    check_master("yarn")

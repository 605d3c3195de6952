"""A topic becomes a Delta table, is compared with it, and comes back from it: commands as they are typed, a JVM each.

This is what tells whether PySpark, Delta's jars and Java fit together where only `pip install '.[spark]'` chose them.
"""

import json
import subprocess
from pathlib import Path

import pyspark
import pytest

from ottla.spark.jars import coordinates_of
from ottla.testing import Broker
from tests.cli.terminal import command
from tests.spark.pipeline.conftest import Fill, read_topic

BOUND_S = 600
VALUES = [json.dumps({"user": f"user-{n % 7}", "n": n}, separators=(",", ":")).encode() for n in range(100)]


def pipeline(name: str, broker: Broker, directory: Path, *arguments: str) -> str:
    line = command("pipeline", name, "--bootstrap-server", broker.bootstrap_servers, *arguments)
    done = subprocess.run(line, cwd=directory, capture_output=True, text=True, timeout=BOUND_S, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout


def test_a_topic_lands_is_verified_and_comes_back(
    broker: Broker, delta_jars: list[str], fill: Fill, tmp_path: Path
) -> None:
    coordinates_of("delta", pyspark.__version__)  # a PySpark that pyproject.toml allows and that Delta lacks is a fault
    if not delta_jars:
        pytest.skip("Delta's jars cannot be fetched")
    fill("there", *VALUES, key=b"k")
    table = str(tmp_path / "table")
    pipeline("land", broker, tmp_path, "--topic", "there", "--to", table, "--once")
    compared = pipeline("verify", broker, tmp_path, "--topic", "there", "--table", table, "--json")
    assert json.loads(compared)["same"] is True
    mapping = ("--key", "kafka_key", "--value", "to_json(struct(user, n))", "--timestamp", "kafka_timestamp")
    pipeline("backfill", broker, tmp_path, "--table", table, "--topic", "back", *mapping)
    back = read_topic(broker.bootstrap_servers, "back")
    assert sorted(record.value for record in back) == sorted(VALUES)
    assert {record.key for record in back} == {b"k"}

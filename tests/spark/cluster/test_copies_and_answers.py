"""``backfill``, ``mirror``, ``verify`` and ``profile`` on a standalone master with two workers whose Python has no
Ottla: skewed records, many of them, in bounded memory, with the driver and an executor killed on the way.

OTTLA_SPARK_RECORDS says how many; 20 million by default.
"""

import json
import os
from pathlib import Path

import pytest

from tests.spark.cluster.killed_runs import A_BATCH, BOUND_S, RECORDS, World, run_with_kills, start
from tests.spark.skewed import BLOCK, HOT, committed_batches, sum_of_n, user_of

pytestmark = pytest.mark.spark_full

FILES = 20


def test_a_backfill_is_there_once(world: World, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = tmp_path / "table"
    table.mkdir()
    each = RECORDS // FILES
    for number in range(FILES):
        block = [user_of(n % BLOCK) for n in range(number * each, (number + 1) * each)]
        numbers = [n % BLOCK for n in range(number * each, (number + 1) * each)]
        pq.write_table(pa.table({"user": block, "n": pa.array(numbers, pa.int64())}), table / f"{number}.parquet")
    size = sum(path.stat().st_size for path in table.iterdir())
    line = ("backfill", "--table", str(table), "--topic", "backfilled", "--partitions", "4", "--key", "user")
    more = ("--value", "n", "--batch-bytes", str(size // 5), "--checkpoint", str(tmp_path / "checkpoint"))
    run_with_kills(world, *line, *more, log=tmp_path / "backfill.log", query="backfill-backfilled")
    count = total = 0
    for batch in committed_batches(world.servers, "backfilled"):
        count += batch.num_rows
        total += sum(int(value) for value in batch["value"].to_pylist())
    assert (count, total) == (each * FILES, sum_of_n(each * FILES))


def test_a_mirror_is_verified_and_a_difference_is_found(world: World, tmp_path: Path) -> None:
    line = ("mirror", "--topic", "skewed", "--to", "mirrored", "--once", "--max-offsets", str(A_BATCH))
    checkpoint = ("--checkpoint", str(tmp_path / "mirror"))
    run_with_kills(world, *line, *checkpoint, log=tmp_path / "mirror.log", query="mirror-skewed")

    line = ("verify", "--topic", "skewed", "--with", "mirrored", "--slice-records", str(A_BATCH), "--json")
    more = ("--compare", "key,value,headers,partition,timestamp", "--checkpoint", str(tmp_path / "verify"))
    found = json.loads(run_with_kills(world, *line, *more, log=tmp_path / "verify.log", query="verify-skewed"))
    assert found["same"] is True
    assert found["left"]["records"] == found["right"]["records"] == RECORDS

    from ottla.clients.sync import Producer

    with Producer(bootstrap_servers=world.servers) as producer:
        producer.send("mirrored", b"one more", key=b"k")
    process = start(world, *line, *more, log=tmp_path / "again.log")
    printed = process.communicate(timeout=BOUND_S)[0].decode()
    assert process.returncode == 1, (tmp_path / "again.log").read_text()
    found = json.loads(printed)
    assert (found["left"]["only_here"], found["right"]["only_here"]) == (0, 1)
    assert [(sample["key"], sample["value"]) for sample in found["samples"]] == [("k", "one more")]


def test_a_profile_names_the_hot_key(world: World, tmp_path: Path) -> None:
    picture = str(tmp_path / "skewed")
    line = ("profile", "--topic", "skewed", "--slice-records", str(A_BATCH), "--picture", picture, "--json")
    checkpoint = ("--checkpoint", str(tmp_path / "checkpoint"))
    found = json.loads(run_with_kills(world, *line, *checkpoint, log=tmp_path / "profile.log", query="profile-skewed"))
    assert found["records"] == RECORDS
    hottest = found["keys"][0]
    assert hottest["key"] == HOT
    assert hottest["records"] >= RECORDS * 0.6
    assert abs(found["distinct_keys"] - 401) < 40
    assert any(f"key {HOT} alone has 60 %" in finding for finding in found["findings"])
    assert os.path.getsize(f"{picture}.png") > 10_000
    assert "<svg" in Path(f"{picture}.html").read_text()

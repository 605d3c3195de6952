"""``run`` and ``land`` on a standalone master with two workers whose Python has no Ottla: skewed records, many of them,
in bounded memory, with the driver and an executor killed on the way.

OTTLA_SPARK_RECORDS says how many; 20 million by default.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.spark.cluster.killed_runs import A_BATCH, RECORDS, World, run_with_kills
from tests.spark.skewed import committed_batches, sum_of_n, user_of

pytestmark = pytest.mark.spark_full

PROGRAM = """
from ottla.spark.pipeline import Json, Topic, pipeline

@pipeline(
    source=Topic("skewed", Json("user string not null, n bigint"), options={"maxOffsetsPerTrigger": "A_BATCH"}),
    sink=Topic("doubled", key="user"),
    dead_letters="skewed.dead",
)
def doubled(frame):
    return frame.selectExpr("user", "n * 2 AS n")
"""


def test_land_takes_all_records_once(world: World, tmp_path: Path) -> None:
    import pyarrow.compute
    import pyarrow.dataset

    table = tmp_path / "table"
    line = (
        "land",
        "--topic",
        "skewed",
        "--to",
        str(table),
        "--format",
        "parquet",
        "--max-offsets",
        str(A_BATCH),
        "--once",
    )
    run_with_kills(world, *line, log=tmp_path / "land.log", query="land-skewed")
    # What the killed run left is swept away: a reader that knows nothing of Spark sees each record once.
    files = [str(each) for each in table.rglob("*.parquet")]
    landed = pyarrow.dataset.dataset(files)
    places = []
    total = count = 0
    for batch in landed.to_batches(columns=["n", "kafka_partition", "kafka_offset"]):
        count += batch.num_rows
        total += pyarrow.compute.sum(batch["n"]).as_py() or 0
        place = pyarrow.compute.add(
            pyarrow.compute.multiply(batch["kafka_partition"].cast("int64"), 1 << 40), batch["kafka_offset"]
        )
        places.append(place.to_numpy())
    assert (count, len(np.unique(np.concatenate(places))), total) == (RECORDS, RECORDS, sum_of_n(RECORDS))


def test_run_takes_all_records_once(world: World, tmp_path: Path) -> None:
    program = tmp_path / "double.py"
    program.write_text(PROGRAM.replace("A_BATCH", str(A_BATCH)))
    line = ("run", str(program), "--checkpoint", str(tmp_path / "checkpoint"), "--once")
    run_with_kills(world, *line, log=tmp_path / "run.log", query="doubled")
    found: Counter[str] = Counter()
    for batch in committed_batches(world.servers, "doubled"):
        for pair in batch["key"].value_counts():
            found[pair["values"].as_py().decode()] += pair["counts"].as_py()
    block = Counter(map(user_of, range(50_000)))
    expected = Counter({user: count * (RECORDS // 50_000) for user, count in block.items()})
    expected.update(map(user_of, range(RECORDS % 50_000)))
    assert found == expected

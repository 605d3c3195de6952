"""The first write of a Spark session that has done nothing yet, in a process of its own each time."""

import os
import subprocess
import sys
import time
from statistics import median

from bench.broker import process
from bench.measure import Row
from bench.spark.arena import PARTITIONS, SparkArena, end_offsets
from bench.spark.contenders import ALL, OTTLA, STOCK
from ottla.spark.jars import find_jars
from ottla.spark.java import find_java_home
from ottla.spark.session import spark_session
from tests.spark.conftest import STOCK_CONNECTOR

RECORDS = 480_000
VALUE_BYTES = 480
_BAR = 1.0
_BOUND_S = 300


def cold(arena: SparkArena) -> list[Row]:
    """Contenders take turns; the clock starts when the session stands."""
    rows: list[Row] = []
    for name in arena.names:
        times: dict[str, list[tuple[float, float]]] = {STOCK.name: [], OTTLA.name: []}
        with arena.alone(name) as node:
            for _ in range(1 if arena.quick else 3):
                for contender in (STOCK, OTTLA):
                    with arena.topic(node) as topic:
                        command = [sys.executable, "-m", __spec__.name, contender.name, node.bootstrap, topic]
                        done = subprocess.run(command, capture_output=True, text=True, timeout=_BOUND_S, check=True)
                        wall_s, cpu_s = map(float, done.stdout.split()[-2:])
                        times[contender.name].append((wall_s, cpu_s))
                        if (found := end_offsets(node.bootstrap, topic)) != RECORDS:
                            raise RuntimeError(f"{contender.name} wrote {found} of {RECORDS} records")
        print(f"\na session's first write, {RECORDS:,} JSON records of {VALUE_BYTES} B, on {name}'s broker")
        for contender_name, each in times.items():
            wall_s, cpu_s = (median(column) for column in zip(*each, strict=True))
            print(f"  {contender_name:14} {wall_s:>7.1f} s   CPU of Spark {cpu_s:>6.1f} s", flush=True)
        ratio = median(wall for wall, _ in times[OTTLA.name]) / median(wall for wall, _ in times[STOCK.name])
        print(f"  ottla takes {ratio:.2f} × stock (bar: {_BAR:g} ×) {'OK' if ratio <= _BAR else 'MISS'}")
        rows.append(Row(f"first write on {name}'s broker", f"{ratio:.2f} ×", f"≤ {_BAR:g} ×", ratio <= _BAR))
    return rows


def first_write(contender_name: str, bootstrap: str, topic: str) -> tuple[float, float]:
    """Seconds, and seconds of CPU of Spark and its workers; in a process that has no session."""
    contender = next(each for each in ALL if each.name == contender_name)
    jars = find_jars("spark-sql-kafka", STOCK_CONNECTOR, find_java_home(), lambda _: None)
    conf = {"spark.ui.enabled": "false", "spark.driver.memory": "1g", "spark.jars": ",".join(jars)}
    spark = spark_session("ottla-bench-cold", master="local[2]", conf=conf)
    text = f"rpad(concat('visit ', id, ' '), {VALUE_BYTES - 60}, 'abcdefghij')"
    frame = spark.range(0, RECORDS, 1, PARTITIONS).selectExpr(
        f"CAST(to_json(struct(id, id % 1000 AS page, {text} AS text)) AS BINARY) AS value"
    )
    writer = frame.write.format(contender.format).options(**contender.writing).mode("append")
    before, begun = process.cpu_s(os.getpid()), time.perf_counter()
    writer.options(**{"kafka.bootstrap.servers": bootstrap, "topic": topic}).save()
    taken = time.perf_counter() - begun, process.cpu_s(os.getpid()) - before
    spark.stop()
    return taken


if __name__ == "__main__":
    print(*first_write(*sys.argv[1:]))

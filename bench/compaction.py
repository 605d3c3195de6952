"""Compaction: Ottla's cleaner (a worker process, from its start to the last swap) beside Apache's on the same files.

Apache's cleaner is timed by itself in a JVM that has been warmed up on copies; ours brings its whole worker process.
"""

import asyncio
import os
import re
import shutil
from random import Random
from statistics import median

from bench.measure import Cost, Row, measured_cost, print_table
from bench.workload import now_ms, open_log, scratch_directory
from ottla.common.topic_partition import TopicPartition
from ottla.config.broker import BrokerLogConfig
from ottla.config.topic import LogConfig
from ottla.log.clean_shutdown import CleanShutdownFile
from ottla.log.manager import LogManager
from ottla.records.builder import build_batch
from ottla.records.compression import Compression
from ottla.records.record import SimpleRecord
from ottla.runtime.live import AsyncioRuntime
from ottla.runtime.posix import PosixFiles
from tests.oracle import Oracle

_LOG_BYTES = 512 << 20
_SEGMENT_BYTES = 64 << 20
_KEYS = 1_000_000
_RECORDS_A_BATCH = 140
_VALUE_BYTES = 80
_WARM_UPS = 1
_TOPIC_CONFIG = {"cleanup.policy": "compact", "segment.bytes": str(_SEGMENT_BYTES), "min.cleanable.dirty.ratio": "0"}
_PARTITION = TopicPartition("compacted", 0)


def run(rounds: int = 3) -> list[Row]:
    oracle = Oracle(print)
    rows = []
    for compression in (Compression.NONE, Compression.LZ4, Compression.ZSTD):
        with scratch_directory() as directory:
            template = f"{directory}/template/{_PARTITION}"
            _fill(template, compression)
            ours, theirs = [], []
            for number in range(rounds):
                theirs.append(_clean_with_apache(oracle, _copy(template, f"{directory}/apache-{number}")))
                ours.append(_clean_with_ottla(_copy(template, f"{directory}/ottla-{number}")))
        for label, index in (("wall", 1), ("CPU", 0)):
            our_s, their_s = median(cost[index] for cost in ours), median(cost[index] for cost in theirs)
            rows.append(
                Row(
                    f"512 MiB of ~16 KiB batches, {compression.name.lower()} ({label})",
                    f"{their_s / our_s:.2f} × Apache ({our_s:.2f} against {their_s:.2f} s)",
                    "≥ 1 ×" if label == "wall" else "",
                    our_s <= their_s if label == "wall" else None,
                )
            )
    oracle.close()
    print_table("Compaction", rows)
    return rows


def _fill(directory: str, compression: Compression) -> None:
    log = open_log(directory, config=LogConfig.from_props(_TOPIC_CONFIG))
    rng, timestamp = Random(11), now_ms()
    while log.size_in_bytes < _LOG_BYTES:
        values = rng.randbytes(_VALUE_BYTES * _RECORDS_A_BATCH // 2).hex().encode()  # half as random as it could be
        records = [
            SimpleRecord(timestamp, b"%016d" % rng.randrange(_KEYS), values[at : at + _VALUE_BYTES])
            for at in range(0, len(values), _VALUE_BYTES)
        ]
        log.append_as_leader(build_batch(records, compression=compression), 0)
    log.roll()
    log.close()


def _copy(template: str, parent: str) -> str:
    shutil.copytree(template, f"{parent}/{_PARTITION}")
    CleanShutdownFile(PosixFiles(), parent).write(0)
    os.sync()
    return parent


def _clean_with_apache(oracle: Oracle, parent: str) -> Cost:
    finished = oracle.run_source(
        "tests/java/CleanDirectory.java",
        f"{parent}/{_PARTITION}",
        f"segment.bytes={_SEGMENT_BYTES}",
        str(now_ms()),
        str(_WARM_UPS),
        jvm_args=("-XX:TieredStopAtLevel=4", "-Xmx2g"),
        timeout_s=900,
    )
    figures = re.search(r"milliseconds=([\d.]+) cpuMilliseconds=([\d.]+)", finished.stdout)
    assert figures is not None, finished
    shutil.rmtree(parent)
    return Cost(float(figures[2]) / 1000, float(figures[1]) / 1000)


def _clean_with_ottla(parent: str) -> Cost:
    cost = asyncio.run(_clean(parent))
    shutil.rmtree(parent)
    return cost


async def _clean(parent: str) -> Cost:
    runtime = AsyncioRuntime(worker_niceness=0)
    manager = LogManager(
        runtime,
        BrokerLogConfig(log_dirs=(parent,), log_cleaner_threads=1),
        topic_overrides=lambda _topic: _TOPIC_CONFIG,
    )
    await manager.start()
    log = manager.logs[_PARTITION]
    log.update_high_watermark(log.log_end_offset)
    with measured_cost() as cost:
        stats = await manager.cleaner.clean_filthiest()
    assert stats is not None, "nothing was cleaned"
    await manager.stop()
    return cost()

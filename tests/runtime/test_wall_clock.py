"""The wall clock is for what is written down or read by people; how long something takes is the monotonic clock's.

An administrator or NTP may set the wall clock by hours, either way. So each module that reads it is listed here with
what for, and a module that begins to read it must be added. That something lasts so long is no reason.
"""

import ast
from pathlib import Path

import ottla

ROOT = Path(ottla.__file__).parent

RECORDS = "timestamps of the records that it writes"
RETENTION = "how old records are by their own timestamps"
PRODUCERS = "how old producers are by the timestamps of their records"

WALL_CLOCK = {
    "clients/consumer/position_updater.py": "auto.offset.reset=by_duration asks for the offsets of a timestamp",
    "clients/producer/producer.py": RECORDS,
    "clients/producer/send_batch.py": RECORDS,
    "clients/security/bearer_login.py": "when a token expires stands in the token",
    "controller/driver.py": f"{RECORDS}, and the metric of how old the last one is",
    "coordinator/runtime.py": RECORDS,
    "coordinator/shard_context.py": RECORDS,
    "log/cleaner/log_cleaner.py": "the delete horizon, which stands in batches",
    "log/cleaner/manager.py": RETENTION,
    "log/data_directory.py": "when meta.properties was written",
    "log/loader.py": PRODUCERS,
    "log/log.py": f"log append time, {RETENTION}, {PRODUCERS}",
    "log/manager.py": PRODUCERS,
    "raft/format.py": "timestamps of the files that it writes",
    "raft/metadata_log.py": RETENTION,
    "raft/raft_client.py": f"{RECORDS}, a metric of their age, and the times that DescribeQuorum tells",
    "raft/snapshot_writer.py": RECORDS,
    "replication/replica_metrics.py": PRODUCERS,
    "replication/transaction_verification.py": PRODUCERS,
    "server/node.py": "the metric of how old the last applied record is",
    "server/txn_marker_writer.py": RECORDS,
}

ON_A_TERMINAL = ("cli/", "spark/", "console/")
"""What prints the time of day; nothing there waits by a Clock."""


def _readers() -> set[str]:
    found = set()
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(ON_A_TERMINAL) or name == "runtime/system_clock.py":
            continue
        if any(_reads_wall_clock(node) for node in ast.walk(ast.parse(path.read_text()))):
            found.add(name)
    return found


def _reads_wall_clock(node: ast.AST) -> bool:
    """``clock.now_ms`` of any clock, called or handed on; ``time.time``, ``time.time_ns``, also imported by name."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "time" and any(alias.name in {"time", "time_ns"} for alias in node.names)
    if not isinstance(node, ast.Attribute):
        return False
    owner = node.value
    owner_name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    if node.attr == "now_ms":
        return owner_name.endswith("clock")
    return owner_name == "time" and node.attr in {"time", "time_ns"}


def test_only_these_modules_read_the_wall_clock() -> None:
    assert _readers() == set(WALL_CLOCK)


def test_the_check_sees_each_way_of_reading_it() -> None:
    for source in ("self._clock.now_ms()", "f(runtime.clock.now_ms)", "time.time()", "from time import time_ns"):
        assert any(_reads_wall_clock(node) for node in ast.walk(ast.parse(source))), source
    for source in ("clock.monotonic_ms()", "time.monotonic()", "server.now_ms()", "from time import perf_counter_ns"):
        assert not any(_reads_wall_clock(node) for node in ast.walk(ast.parse(source))), source

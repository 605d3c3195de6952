import subprocess
import sys

PROGRAM = """
import gc
from ottla.spark.kept_modules import MODULES

assert gc.get_freeze_count() == 0
MODULES.keep()
first = gc.get_freeze_count()
assert first > 1000, first

class Garbage:
    pass

one, other = Garbage(), Garbage()
one.other, other.one = other, one
MODULES.keep()
assert gc.get_freeze_count() <= first, "no module came: what a task makes stays the collector's"
one = other = None
assert gc.collect() >= 2

import decimal
MODULES.keep()
assert gc.get_freeze_count() > first
"""


def test_the_collector_passes_over_modules_and_collects_what_tasks_leave() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr

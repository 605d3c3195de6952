"""``python -m tests.spark.chaos [--kills N] [--seed N] [--sink ottla|delta] [--at-least-once] [--cluster]``."""

import argparse
import logging
import shutil
import tempfile
import time
from pathlib import Path
from random import SystemRandom

from tests.spark.chaos.session import ChaosSession

CLUSTER = "local-cluster[2,1,600]"
EVERYTHING = ("worker", "driver", "broker", "executor")


def main() -> None:
    """Kill, and check that the output is exactly what it should be; what a failure leaves is kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--sink", choices=("ottla", "delta"), default="ottla")
    parser.add_argument("--at-least-once", action="store_true", help="to see that the check can fail")
    parser.add_argument("--cluster", action="store_true", help="executors in processes of their own, which die too")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else SystemRandom().randrange(1 << 31)
    logging.disable(logging.CRITICAL)
    started = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="ottla-spark-chaos-"))
    print(f"chaos: {options.kills} kills of a job to {options.sink}, --seed {seed}, in {scratch}", flush=True)
    session = ChaosSession(
        scratch,
        seed,
        sink=options.sink,
        exactly_once=not options.at_least_once,
        master=CLUSTER if options.cluster else "local[2,4]",
        say=lambda what: print(f"chaos: {time.monotonic() - started:.0f} s, {what}", flush=True),
        victims=EVERYTHING if options.cluster else tuple(each for each in EVERYTHING if each != "executor"),
    )
    session.run(options.kills)
    shutil.rmtree(scratch)
    killed = ", ".join(f"{count} × {victim}" for victim, count in sorted(session.killed.items()))
    print(
        f"chaos: {session.expected.total()} rows, each exactly once; killed {killed}; {session.starts} starts, "
        f"{time.monotonic() - started:.0f} s"
    )


if __name__ == "__main__":
    main()

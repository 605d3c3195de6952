"""``python -m tests.chaos [--kills N] [--seed N] [--session-kills N]``: kill writers until N are dead, and check."""

import argparse
import logging
import shutil
import tempfile
import time
from random import SystemRandom

from tests.chaos.session import Session


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--session-kills", type=int, default=10, help="kills on one data directory")
    parser.add_argument("--seed", type=int, default=None, help="of the first session; each further one adds 1")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else SystemRandom().randrange(1 << 31)
    logging.disable(logging.CRITICAL)
    started = time.monotonic()
    kills = 0
    print(f"chaos: {options.kills} kills, --seed {seed}", flush=True)
    while kills < options.kills:
        scratch = tempfile.mkdtemp(prefix="ottla-chaos-")
        session = Session(f"{scratch}/data", seed)
        for _ in range(min(options.session_kills, options.kills - kills)):
            session.kill_once()
            kills += 1
            seconds = time.monotonic() - started
            print(f"chaos: {kills}/{options.kills} kills, {seconds:.0f} s, at {session.aims[-1]}", flush=True)
        shutil.rmtree(scratch)  # after a failure it stays, to be looked at
        seed += 1


if __name__ == "__main__":
    main()

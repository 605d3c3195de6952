"""``python -m tests.chaos [--broker] [--kills N] [--seed N] [--session-kills N]``: kill until N are dead, and check.

Writers of the log are killed, or with ``--broker`` whole brokers under their clients' load.
"""

import argparse
import logging
import shutil
import tempfile
import time
from pathlib import Path
from random import SystemRandom

from tests.chaos.broker_session import BrokerSession
from tests.chaos.session import Session


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--session-kills", type=int, default=10, help="kills on one data directory")
    parser.add_argument("--seed", type=int, default=None, help="of the first session; each further one adds 1")
    parser.add_argument("--broker", action="store_true", help="kill brokers that clients write to")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else SystemRandom().randrange(1 << 31)
    logging.disable(logging.CRITICAL)
    started = time.monotonic()
    kills = 0
    print(f"chaos: {options.kills} kills, --seed {seed}", flush=True)
    while kills < options.kills:
        scratch = tempfile.mkdtemp(prefix="ottla-chaos-")
        session_kills = min(options.session_kills, options.kills - kills)
        if options.broker:
            brokers = BrokerSession(Path(scratch), seed)
            brokers.run(session_kills)
            kills += session_kills
            _report(kills, options.kills, started, f"{brokers.acknowledged} records acknowledged, all there")
        else:
            session = Session(f"{scratch}/data", seed)
            for _ in range(session_kills):
                session.kill_once()
                kills += 1
                _report(kills, options.kills, started, f"at {session.aims[-1]}")
        shutil.rmtree(scratch)  # after a failure it stays, to be looked at
        seed += 1


def _report(kills: int, of: int, started: float, what: str) -> None:
    print(f"chaos: {kills}/{of} kills, {time.monotonic() - started:.0f} s, {what}", flush=True)


if __name__ == "__main__":
    main()

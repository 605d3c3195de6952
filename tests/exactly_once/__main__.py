"""``python -m tests.exactly_once [--copiers KIND …] [--kills N] [--seed N] [--apache]``: kill copiers and their broker.

KIND is one of Apache's copier, alone on its partition (copier) or in a group (copier-group), and a loop with
confluent-kafka in a group of the classic (loop) or of the consumer protocol (loop-consumer). With ``--apache`` the
broker is Apache's: what it does not pass is no test.
"""

import argparse
import logging
import shutil
import tempfile
import time
from pathlib import Path
from random import SystemRandom

from tests.exactly_once.session import PROPERTIES, ExactlyOnceSession
from tests.exactly_once.workers import KINDS, new_command
from tests.oracle import Oracle
from tests.ottla_broker import OttlaBroker


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.exactly_once")
    parser.add_argument("--copiers", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--kills", type=int, default=50, help="of copiers, for each kind of them")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--apache", action="store_true", help="Apache's broker instead of Ottla's")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else SystemRandom().randrange(1 << 31)
    logging.disable(logging.CRITICAL)
    oracle = Oracle(print)
    for kind in options.copiers:
        started = time.monotonic()
        print(f"exactly once: {kind}, {options.kills} kills, --seed {seed}", flush=True)
        scratch = Path(tempfile.mkdtemp(prefix=f"ottla-{kind}-"))
        node = oracle.broker(scratch, PROPERTIES) if options.apache else OttlaBroker(scratch, PROPERTIES)
        session = ExactlyOnceSession(node, new_command(kind, oracle, seed), scratch, seed)
        session.run(options.kills, oracle, say=lambda: _report(kind, session, started))  # noqa: B023
        _report(kind, session, started)
        shutil.rmtree(scratch)  # after a failure it stays, to be looked at
    oracle.close()


def _report(kind: str, session: ExactlyOnceSession, started: float) -> None:
    print(f"exactly once: {kind}, {time.monotonic() - started:.0f} s, {session.story()}", flush=True)


if __name__ == "__main__":
    main()

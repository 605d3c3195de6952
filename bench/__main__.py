"""``python -m bench [name …]``: run all benchmarks or those named, and say which bars were missed."""

import importlib
import sys

from bench.measure import Row, describe_machine

NAMES = ("append", "lookup", "recovery", "opening", "compaction")


def main() -> int:
    names = sys.argv[1:] or NAMES
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    print(f"Ottla's log on {describe_machine()}; medians of alternating rounds")
    rows: list[Row] = []
    for name in names:
        rows += importlib.import_module(f"bench.{name}").run()
    missed = [row.what for row in rows if row.reached is False]
    print(f"\n{len(missed)} bars missed{': ' + '; '.join(missed) if missed else ''}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

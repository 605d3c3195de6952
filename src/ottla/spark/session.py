"""A Spark session that needs nothing installed by hand: ``spark_session("name")``.

Local by default. It finds Java, names this interpreter for Spark's Python workers, keeps Spark's log to errors, fetches
jars that are asked for (Delta's) and, where the master is not local, ships the package to the executors.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final

from ottla.spark.errors import SparkUnavailableError
from ottla.spark.failures import sentence_of
from ottla.spark.installed import check_installed
from ottla.spark.jars import PACKAGES, Coordinate, Say, coordinates_of, find_jars
from ottla.spark.java import find_java_home
from ottla.spark.shipping import SHIP, check_executors, check_master, pack
from ottla.spark.spark_home import compiled_spark_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local[*,4]"
"""All cores, and four attempts at a task, as on a cluster: with Spark's ``local[*]`` one killed worker ends a query."""
_DEFAULTS: Final[Mapping[str, str]] = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    # What a Python worker holds two of while it writes; Spark's 64 MB are half a gigabyte on two cores.
    "spark.sql.execution.arrow.maxBytesPerBatch": "4m",
}
_LISTS: Final = frozenset({"spark.jars", "spark.jars.packages", "spark.sql.extensions", "spark.archives"})
_LOOPBACK: Final[Mapping[str, str]] = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_DAEMON: Final = "ottla.spark.task_daemon"
_IMPORT_BOUND_S: Final = 30
_DELTA: Final[Mapping[str, str]] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_DELTA_STATE: Final = "spark.databricks.delta.snapshotPartitions"
"""In how many tasks Delta works out what a table is made of, at each commit: 50, which is seconds for a small batch."""


def spark_session(
    app_name: str,
    *,
    master: str | None = None,
    conf: Mapping[str, str] = {},
    packages: Sequence[str] = (),
    say: Say = lambda _message: None,
    jvm_log: IO[bytes] | None = None,
) -> "SparkSession":
    """Start Spark, or give the session that this process has already.

    ``packages`` are Maven coordinates (``group:artifact:version``) that Spark resolves itself, and ``"delta"``, which
    is fetched into the user's cache, as this version of Spark needs it, and switched on. ``conf`` goes before
    everything that is set here. ``say`` is told what takes long; ``jvm_log`` takes what the JVM and Spark's workers
    print, which else goes to standard error.

    Raises SparkUnavailableError if there is no PySpark, no Java, or a jar cannot be had.
    """
    settings = session_settings(app_name, master=master, conf=conf, packages=packages, say=say)
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException, PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if SparkContext._gateway is None and jvm_log is not None:
        java_conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
        try:
            gateway = launch_gateway(java_conf, {"stdout": jvm_log, "stderr": jvm_log})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            raise SparkUnavailableError(f"Spark's JVM did not start: {error}") from error
        SparkContext._ensure_initialized(gateway=gateway)
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise SparkUnavailableError(f"Spark did not start: {sentence_of(error)}") from error
    if not is_local(settings["spark.master"]):
        check_executors(session, say)
    threading.Thread(target=_look_up_formats, args=(session,), name="ottla-formats", daemon=True).start()
    return session


def _look_up_formats(session: "SparkSession") -> None:
    """Have Spark find out now which formats Python has, beside what the caller does first.

    It asks a Python process of its own for them, 0.4 s, when the first query names one that is not Java's. What goes
    wrong here goes wrong again there, where somebody is told: a session that is stopped meanwhile is not at fault.
    """
    with suppress(Exception):
        session._jsparkSession.sessionState().dataSourceManager().dataSourceExists("ottla")


def session_settings(
    app_name: str,
    *,
    master: str | None = None,
    conf: Mapping[str, str] = {},
    packages: Sequence[str] = (),
    say: Say = lambda _message: None,
) -> dict[str, str]:
    """All settings of a session as ``spark_session`` makes it; sets JAVA_HOME and PYSPARK_PYTHON for this process."""
    sets = check_packages(packages)
    java_home = find_java_home()
    os.environ["JAVA_HOME"] = java_home
    os.environ["PYSPARK_PYTHON"] = conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON", sys.executable)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    master = master or conf.get("spark.master") or LOCAL
    if not master.startswith("yarn"):  # it ships the driver's archives, and its Python may be another
        spark_home = compiled_spark_home()
        if spark_home is not None:
            os.environ["SPARK_HOME"] = spark_home
    settings = {"spark.app.name": app_name, "spark.master": master, **_DEFAULTS}
    if is_local(master):
        settings |= _LOOPBACK
        if _imports(os.environ["PYSPARK_PYTHON"], _DAEMON):
            settings["spark.python.daemon.module"] = _DAEMON
    else:
        check_master(master)
        shipment = pack([name for name in conf.get(SHIP, "").split(",") if name])
        settings |= shipment.settings(conf)
        # Workers that the driver starts are of the executors' Python, too, and may be as bare.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [shipment.directory, os.environ.get("PYTHONPATH")]))
    if "delta" in packages:
        settings |= _DELTA
        if is_local(master):
            settings[_DELTA_STATE] = str(local_partitions())
    jars = [jar for name, jars in sets.items() for jar in find_jars(name, jars, java_home, say)]
    if jars:
        settings["spark.jars"] = ",".join(jars)
    others = [each for each in packages if each not in PACKAGES]
    if others:
        settings["spark.jars.packages"] = ",".join(others)
    for key, value in conf.items():
        if key == "spark.executorEnv.PYTHONPATH" and key in settings:
            continue  # it is behind ours
        lists = [settings[key], value] if key in _LISTS and key in settings else [value]
        settings[key] = ",".join(filter(None, lists))
    return settings


def check_packages(packages: Sequence[str]) -> dict[str, tuple[Coordinate, ...]]:
    """The sets of jars among ``packages``, for the PySpark that is installed; starts nothing.

    SparkUnavailableError if there is no PySpark, or none of a set is for its version.
    """
    check_installed()
    from pyspark.version import __version__

    return {name: coordinates_of(name, __version__) for name in packages if name in PACKAGES}


def _imports(python: str, module: str) -> bool:
    """Whether this interpreter finds a module by itself; one that a program puts on its own path, no other does."""
    command = [python, "-c", f"import {module}"]
    try:
        return subprocess.run(command, capture_output=True, timeout=_IMPORT_BOUND_S, check=False).returncode == 0  # noqa: S603  the one that Spark runs
    except (OSError, subprocess.TimeoutExpired):
        return False


def is_local(master: str) -> bool:
    """Whether the executors are the driver itself, which has the package."""
    return master == "local" or master.startswith("local[")


def local_partitions() -> int:
    """In how many parts this machine does what Spark cuts in 200, and Delta in 50: each costs more than its rows."""
    return min(16, max(2, os.cpu_count() or 2))

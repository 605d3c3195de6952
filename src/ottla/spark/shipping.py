"""The package on its way to executors that do not have it: one archive, unpacked beside each, on their Python's path.

In it are ``ottla``, the packages that register its formats with Spark, and the compiled packages that it imports.
PySpark itself needs pyarrow and pandas, so executors have those; numba is used where they have it. More packages go
along with the setting ``spark.ottla.ship`` (``numba,llvmlite``). Compiled code fits one Python on one platform:
``check_executors`` says so in one sentence if the executors are of another kind.
"""

import hashlib
import importlib.util
import json
import shutil
import socket
import sys
import sysconfig
import tarfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ottla.spark.cache import cache_root, cached_directory
from ottla.spark.errors import SparkUnavailableError
from ottla.spark.failures import sentence_of
from ottla.spark.jars import Say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHIP: Final = "spark.ottla.ship"
DIRECTORY: Final = "ottla_packages"
"""The archive's directory, below that of an executor."""
_OWN: Final = ("ottla", "pyspark_ottla", "pyspark_ottla_log")
_NEEDED: Final = ("crc32c", "cramjam", "xxhash", "zstandard")
_OPTIONAL: Final = ("fastavro",)
"""Only some pipelines import it."""
_KEPT: Final = 3
"""Archives of earlier versions that stay in the cache."""
_CONNECT_TIMEOUT_S: Final = 5
_PATIENCE_S: Final = 10


class Shipment(NamedTuple):
    """``archive`` is for the executors; ``directory`` holds the same for workers that the driver starts."""

    archive: str
    directory: str

    def settings(self, conf: Mapping[str, str]) -> dict[str, str]:
        """The settings that bring it to the executors; a path that ``conf`` has for them goes on behind it."""
        theirs = conf.get("spark.executorEnv.PYTHONPATH")
        return {
            "spark.archives": f"{self.archive}#{DIRECTORY}",
            "spark.executorEnv.PYTHONPATH": DIRECTORY + (f":{theirs}" if theirs else ""),
        }


def pack(more: Sequence[str] = ()) -> Shipment:
    """Make the archive, or find it in the cache if nothing has changed.

    SparkUnavailableError if a package is not installed.
    """
    optional = [name for name in _OPTIONAL if importlib.util.find_spec(name) is not None]
    files = dict(_files((*_OWN, *_NEEDED, *optional, *more)))
    digest = hashlib.sha256()
    for name in sorted(files):
        stat = files[name].stat()
        digest.update(f"{name}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())

    def make(directory: Path) -> None:
        for name, path in files.items():
            target = directory / DIRECTORY / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        with tarfile.open(directory / f"{DIRECTORY}.tar.gz", "w:gz", compresslevel=1) as archive:
            for entry in sorted((directory / DIRECTORY).iterdir()):
                archive.add(entry, entry.name)

    made = cached_directory("shipments", digest.hexdigest(), make)
    _forget_old(made)
    return Shipment(str(made / f"{DIRECTORY}.tar.gz"), str(made / DIRECTORY))


def _files(packages: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Every file of these packages, by the name that it has below a directory of Python's path."""
    for package in packages:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise SparkUnavailableError(f"{package} is to be shipped to the executors, and is not installed here")
        if package in _OWN:
            yield from _own_files(Path(spec.origin).parent)
        else:
            yield from _installed_files(package)


def _own_files(root: Path) -> Iterator[tuple[str, Path]]:
    """A package of ours, wherever it is; what its modules are compiled into is beside it."""
    beside = root.parent.glob("*__mypyc.*") if root.name == "ottla" else ()
    for path in (*sorted(root.rglob("*")), *beside):
        if path.is_file() and "__pycache__" not in path.parts:
            yield str(path.relative_to(root.parent)), path


def _installed_files(package: str) -> Iterator[tuple[str, Path]]:
    """What was installed with a package, its description too: some look up their own version there."""
    names = metadata.packages_distributions().get(package, [package])
    for name in dict.fromkeys(names):
        for each in metadata.files(name) or ():
            path = Path(str(each.locate()))
            if ".." not in each.parts and "__pycache__" not in each.parts and path.is_file():
                yield str(each), path


def _forget_old(made: Path) -> None:
    """Keep the archives that were made last."""
    others = [each for each in (cache_root() / "shipments").iterdir() if each.is_dir() and each != made]
    for old in sorted(others, key=lambda each: each.stat().st_mtime, reverse=True)[_KEPT - 1 :]:
        shutil.rmtree(old, ignore_errors=True)


def check_master(master: str) -> None:
    """SparkUnavailableError at once if no standalone master of ``spark://…`` answers; Spark would try for a minute."""
    if not master.startswith("spark://"):
        return
    complaint = ""
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=_CONNECT_TIMEOUT_S).close()
            return
        except ValueError:
            complaint = f"{address} is not HOST:PORT"
        except OSError as error:
            complaint = f"{address}: {error.strerror or error}"
    raise SparkUnavailableError(f"Spark's master {master} cannot be reached ({complaint})")


def check_executors(session: "SparkSession", say: Say) -> None:
    """Ask executors whether they can import the package; SparkUnavailableError with the reason if one cannot.

    Waits for the first executor, as Spark does, and tells so.
    """
    here = [f"{sys.version_info.major}.{sys.version_info.minor}", sysconfig.get_platform()]
    master = session.sparkContext.master
    waiting = threading.Timer(_PATIENCE_S, lambda: say(f"waiting for an executor of {master}: has it free workers?"))
    waiting.daemon = True
    waiting.start()
    try:
        answers = _probe(session)
    finally:
        waiting.cancel()
    for found in answers:
        there = found.get("platform", here)
        if there != here:
            raise SparkUnavailableError(
                f"the executors' Python is {' '.join(there)} and here {' '.join(here)}: name one of the same kind "
                "on the executors with --conf spark.pyspark.python=PATH"
            )
        if found["error"]:
            raise SparkUnavailableError(
                f"the executors' Python {found['python']} on {found['host']} lacks what Ottla needs: {found['error']}"
            )


def _probe(session: "SparkSession") -> list[dict[str, Any]]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    needed = ["pyarrow", "pandas", *_OWN, *_NEEDED]

    def ask(_: Iterable[int]) -> Iterable[str]:
        # It travels by value, so it uses nothing of its module.
        import importlib as importlib_
        import json as json_
        import socket as socket_
        import sys as sys_
        import sysconfig as sysconfig_

        error = ""
        try:
            for name in needed:
                importlib_.import_module(name)
        except ImportError as missing:
            error = str(missing)
        version = f"{sys_.version_info.major}.{sys_.version_info.minor}"
        told = {"python": sys_.executable, "host": socket_.gethostname(), "error": error}
        yield json_.dumps({**told, "platform": [version, sysconfig_.get_platform()]})

    context = session.sparkContext
    count = max(2, context.defaultParallelism)
    try:
        answers = context.parallelize(range(count), count).mapPartitions(ask).collect()
    except (PySparkException, Py4JError) as error:
        raise SparkUnavailableError(f"the executors cannot run Python: {sentence_of(error)}") from error
    return [json.loads(each) for each in answers]

"""A SPARK_HOME whose PySpark is compiled, so that Spark's Python processes start three times as fast.

Spark puts its ``python/lib/pyspark.zip`` first on the path of every Python process that it starts. That archive has
sources only, so each of them compiles PySpark anew: a second of CPU, for each of the half dozen processes that a query
over a Python source begins with; and Spark gives up on one that does not answer in ten seconds (a busy machine). The
home made here, in the user's cache, is links to the installed one and the same archives with byte code.
"""

import importlib.util
import marshal
import os
import sys
import zipfile
from pathlib import Path
from typing import Final

from ottla.spark.cache import cached_directory

_HEADER_BYTES: Final = 16


def compiled_spark_home() -> str | None:
    """The home; None if the user has named one, or if PySpark is not as pip installs it."""
    spec = importlib.util.find_spec("pyspark")
    if os.environ.get("SPARK_HOME") or spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent
    archives = sorted((home / "python" / "lib").glob("*.zip"))
    if not archives:
        return None

    def make(directory: Path) -> None:
        _link_all(home, directory, but="python")
        (directory / "python").mkdir()
        _link_all(home / "python", directory / "python", but="lib")
        (directory / "python" / "lib").mkdir()
        for archive in archives:
            compile_archive(archive, directory / "python" / "lib" / archive.name, home.parent)

    made_of = "\n".join(
        ["directories", sys.version, str(home), *(f"{each.name} {each.stat().st_mtime_ns}" for each in archives)]
    )
    return str(cached_directory("spark-home", made_of, make))


def _link_all(source: Path, target: Path, *, but: str) -> None:
    for each in source.iterdir():
        if each.name not in (but, "__pycache__"):
            (target / each.name).symlink_to(each)


def compile_archive(archive: Path, target: Path, installed: Path) -> None:
    """Make the directory ``target``: what ``archive`` holds, with byte code for sources.

    Traces name the files below ``installed``, which are the same, so that they still show lines.
    """
    header = importlib.util.MAGIC_NUMBER.ljust(_HEADER_BYTES, b"\0")
    with zipfile.ZipFile(archive) as sources:
        for entry in sources.infolist():
            if entry.is_dir():
                continue
            content, path = sources.read(entry), target / entry.filename
            if entry.filename.endswith(".py"):
                source = installed / entry.filename
                content = _kept(source) or header + marshal.dumps(compile(content, str(source), "exec"))
                path = path.with_suffix(".pyc")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _kept(path: Path) -> bytes | None:
    """The byte code that Python keeps of an installed file, if it is that file's."""
    cached = Path(importlib.util.cache_from_source(str(path)))
    if not cached.is_file() or not path.is_file():
        return None
    content, stat = cached.read_bytes(), path.stat()
    of_this = int(stat.st_mtime).to_bytes(4, "little") + (stat.st_size & 0xFFFFFFFF).to_bytes(4, "little")
    is_fresh = content[:4] == importlib.util.MAGIC_NUMBER and content[4:8] == bytes(4) and content[8:16] == of_this
    return content if is_fresh else None

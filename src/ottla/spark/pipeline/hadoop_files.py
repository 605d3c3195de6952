"""A few small files where Spark keeps its own: on whatever file system a path names (file, hdfs, s3a, …)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def local_path(path: str) -> str | None:
    """The path on this machine's own file system; None if it names another one."""
    plain = path.removeprefix("file://") if path.startswith("file:///") else path.removeprefix("file:")
    return None if "://" in plain else plain


class HadoopFiles:
    """The file system of ``path``, through Spark's own JVM; names are below that path."""

    def __init__(self, spark: "SparkSession", path: str) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        configuration = spark._jsc.hadoopConfiguration()
        root = jvm.org.apache.hadoop.fs.Path(path)
        self._files = root.getFileSystem(configuration)
        self.root = root.makeQualified(self._files.getUri(), self._files.getWorkingDirectory())

    @property
    def path(self) -> str:
        """The path in full, with its scheme."""
        return str(self.root.toString())

    def read(self, name: str) -> str | None:
        """The text of a file; None if it is not there."""
        path = self._path(name)
        if not self._files.exists(path):
            return None
        stream = self._files.open(path)
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Make a file that is not there yet, whole or not at all."""
        path, scratch = self._path(name), self._path(f"{name}.new")
        stream = self._files.create(scratch, True)
        try:
            stream.write(text.encode())
        finally:
            stream.close()
        if not self._files.rename(scratch, path):
            raise OSError(f"{path.toString()} cannot be written")

    def replace(self, name: str, text: str) -> None:
        """Make a file anew that is there: not in one step, for not every file system can."""
        self._files.delete(self._path(name), False)
        self.write(name, text)

    def is_file(self) -> bool:
        """Whether the path is a file itself."""
        return bool(self._files.exists(self.root)) and bool(self._files.getFileStatus(self.root).isFile())

    def names(self) -> list[str]:
        """What is directly below the path; nothing if it does not exist."""
        if not self._files.exists(self.root):
            return []
        return sorted(str(status.getPath().getName()) for status in self._files.listStatus(self.root))

    def all_files(self) -> Iterator[str]:
        """Every file below the path, in full."""
        found = self._files.listFiles(self.root, True)
        while found.hasNext():
            yield str(found.next().getPath().toString())

    def delete(self, path: str) -> None:
        """Remove a file that ``all_files`` named."""
        self._files.delete(self._jvm.org.apache.hadoop.fs.Path(path), False)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.root, name)

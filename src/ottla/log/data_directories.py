"""All data directories of a broker: which are online, and which a new log goes to."""

from collections.abc import Iterable, Iterator

from ottla.common.error_words import in_words
from ottla.common.errors import InvalidConfigError, KafkaStorageError, LogDirNotFoundError
from ottla.common.uuid import Uuid
from ottla.config.broker import without_detours
from ottla.log.data_directory import DataDirectory
from ottla.runtime.port import Runtime


class DataDirectories:
    """The directories of ``log.dirs``, in its order."""

    def __init__(self, runtime: Runtime, paths: Iterable[str]) -> None:
        """InvalidConfigError for a path that is named twice."""
        listed = list(paths)
        if len({without_detours(path) for path in listed}) != len(listed):
            raise InvalidConfigError(f"log.dirs names a directory twice: {', '.join(listed)}")
        self._by_path = {path: DataDirectory(runtime, path) for path in listed}

    def __getitem__(self, path: str) -> DataDirectory:
        try:
            return self._by_path[path]
        except KeyError:
            raise LogDirNotFoundError(f"Log dir {path} is not found in the config.") from None

    def __iter__(self) -> Iterator[DataDirectory]:
        return iter(self._by_path.values())

    @property
    def online(self) -> list[DataDirectory]:
        """Those that can be used."""
        return [directory for directory in self if directory.is_online]

    @property
    def offline_paths(self) -> list[str]:
        """The others."""
        return [directory.path for directory in self if not directory.is_online]

    @property
    def failures(self) -> dict[str, Exception | None]:
        """Every directory, with what took it offline."""
        return {directory.path: directory.failure for directory in self}

    def holding(self, path: str) -> DataDirectory:
        """The directory that a file was opened in."""
        holders = [directory for directory in self if path.startswith(f"{directory.path}/")]
        assert holders, f"{path} lies in none of the log directories"
        return max(holders, key=lambda directory: len(directory.path))

    def open(self, cluster_id: str | None, node_id: int | None) -> None:
        """Lock and identify them all; see :meth:`DataDirectory.open` for what takes one offline and what raises."""
        for directory in self:
            directory.open(cluster_id, node_id)
        self._refuse_copies()

    def _refuse_copies(self) -> None:
        """Of two directories with one id, the second is a copy of the first, of unknown age."""
        paths: dict[Uuid, str] = {}
        for directory in self.online:
            directory_id = directory.directory_id
            if directory_id is None:
                continue
            path = paths.setdefault(directory_id, directory.path)
            if path != directory.path:
                directory.fail(
                    KafkaStorageError(
                        f"{directory.path}/meta.properties: directory.id is {directory_id}, the same as in {path}. One "
                        "of them is a copy; remove the one that is not wanted from log.dirs."
                    )
                )

    def require_online(self) -> None:
        """KafkaStorageError that says why when none of them can be used."""
        if not self.online:
            reasons = "; ".join(f"{each.path}: {in_words(each.failure)}" for each in self if each.failure is not None)
            raise KafkaStorageError(f"None of the log directories can be used: {reasons}")

    def require_none_offline(self, what: str) -> None:
        """KafkaStorageError when a directory is offline in which there could be what is looked for."""
        if self.offline_paths:
            raise KafkaStorageError(f"{what}, because log directories {', '.join(self.offline_paths)} are offline")

    def online_at(self, path: str) -> DataDirectory:
        """The one at ``path``; LogDirNotFoundError if there is none, KafkaStorageError if it is offline."""
        directory = self[path]
        if directory.failure is not None:
            raise KafkaStorageError(f"Log directory {path} is offline: {in_words(directory.failure)}")
        return directory

    def close(self) -> None:
        """Give up all locks."""
        for directory in self:
            directory.close()

"""``meta.properties``: which cluster and which node a data directory belongs to, and the directory's own id."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from ottla.common.errors import KafkaStorageError
from ottla.common.uuid import Uuid
from ottla.config.properties import format_properties, parse
from ottla.runtime.atomic import write_atomically
from ottla.runtime.port import Files

META_PROPERTIES_FILE: Final = "meta.properties"

_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NODE_ID_KEYS = {0: "broker.id", 1: "node.id"}


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The contents of the file. Version 0 is ZooKeeper's time: it may lack both ids. We write version 1 only."""

    cluster_id: str | None
    node_id: int | None
    directory_id: Uuid | None = None
    version: int = 1

    def with_directory_id(self, directory_id: Uuid) -> "MetaProperties":
        """The same with a directory id, for a file from before KIP-858."""
        return replace(self, directory_id=directory_id)

    def encode(self, now_ms: int) -> bytes:
        """The file's contents in Apache Kafka's order (that of a Java hash table), with the time as its comment."""
        assert self.version == 1, "only version 1 is written"
        assert self.cluster_id is not None
        assert self.node_id is not None
        properties = {"node.id": str(self.node_id)}
        if self.directory_id is not None:
            properties["directory.id"] = str(self.directory_id)
        properties |= {"version": str(self.version), "cluster.id": self.cluster_id}
        return format_properties(properties, ["", _java_date(now_ms)]).encode()

    @classmethod
    def decode(cls, data: bytes, path: str) -> "MetaProperties":
        """Parse the file's contents; raises KafkaStorageError that names the file and the key."""
        try:
            properties = parse(data.decode("latin-1"))
        except ValueError as error:
            raise KafkaStorageError(f"{path} is malformed: {error}") from error
        version = _integer(properties.get("version", "0").strip(), "version", path)
        if version not in _NODE_ID_KEYS:
            raise KafkaStorageError(f"{path}: version is {version}, and only 0 and 1 are known")
        node_id_key = _NODE_ID_KEYS[version]
        node_id_text = properties.get(node_id_key)
        node_id = None if node_id_text is None else _integer(node_id_text, node_id_key, path)
        cluster_id = properties.get("cluster.id")
        if version > 0 and node_id is None:
            raise KafkaStorageError(f"{path}: {node_id_key} was not found")
        if version > 0 and cluster_id is None:
            raise KafkaStorageError(f"{path}: cluster.id was not found")
        directory_id_text = properties.get("directory.id")
        try:
            directory_id = None if directory_id_text is None else Uuid.from_string(directory_id_text)
        except ValueError as error:
            raise KafkaStorageError(f"{path}: directory.id: {error}") from error
        return cls(cluster_id, node_id, directory_id, version)

    def verify(self, path: str, *, cluster_id: str | None = None, node_id: int | None = None) -> None:
        """KafkaStorageError if the directory belongs to another cluster or node than expected; None expects nothing."""
        if cluster_id is not None and self.cluster_id is not None and self.cluster_id != cluster_id:
            raise KafkaStorageError(
                f"{path}: cluster.id is {self.cluster_id}, but this node belongs to cluster {cluster_id}. Either "
                f"log.dirs names the directory of another cluster, or the file was copied from one."
            )
        if node_id is not None and self.node_id is not None and self.node_id != node_id:
            raise KafkaStorageError(
                f"{path}: {_NODE_ID_KEYS[self.version]} is {self.node_id}, but this node has node.id={node_id}. Either "
                f"log.dirs names the directory of another node, or node.id was changed."
            )


def read_meta_properties(files: Files, log_dir: str) -> MetaProperties | None:
    """What ``meta.properties`` of a data directory says, None if there is none; raises KafkaStorageError."""
    path = f"{log_dir}/{META_PROPERTIES_FILE}"
    if not files.exists(path):
        return None
    return MetaProperties.decode(files.read(path), path)


def write_meta_properties(files: Files, log_dir: str, properties: MetaProperties, now_ms: int) -> None:
    """Replace ``meta.properties`` of a data directory; durable on return."""
    write_atomically(files, f"{log_dir}/{META_PROPERTIES_FILE}", properties.encode(now_ms))


def _integer(text: str, key: str, path: str) -> int:
    if _INTEGER.fullmatch(text) is None or not -(1 << 31) <= int(text) < 1 << 31:
        raise KafkaStorageError(f"{path}: {key} is not a number: {text!r}")
    return int(text)


def _java_date(now_ms: int) -> str:
    """The time as Java prints it: ``Mon Nov 16 01:43:54 UTC 2026``, in English whatever the locale."""
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    return f"{_DAYS[now.weekday()]} {_MONTHS[now.month - 1]} {now:%d %H:%M:%S} UTC {now.year}"

"""``ottla storage info``: what the directories of a node are, and what is wrong with them."""

import os

from ottla.cli.output import Output
from ottla.common.errors import KafkaStorageError
from ottla.config.kafka_config import KafkaConfig
from ottla.log.meta_properties import META_PROPERTIES_FILE, MetaProperties, read_meta_properties
from ottla.runtime.live import AsyncioRuntime
from ottla.server.storage import directories_of


def show_info(config: KafkaConfig, output: Output) -> int:
    """Print it, and return 1 if something is wrong."""
    found: list[str] = []
    problems: list[str] = []
    metadata: MetaProperties | None = None
    for directory in sorted(directories_of(config)):
        if not os.path.isdir(directory):
            problems.append(f"{directory} {'is not a directory' if os.path.exists(directory) else 'does not exist'}")
            continue
        found.append(directory)
        try:
            properties = _read(directory)
        except KafkaStorageError as error:
            problems.append(f"Error loading {directory}/{META_PROPERTIES_FILE}: {error}")
            continue
        if properties is None:
            problems.append(f"{directory} is not formatted.")
        elif metadata is None:
            metadata = properties
        elif metadata.cluster_id != properties.cluster_id:
            problems.append("Mismatched cluster IDs between storage directories.")
        elif metadata.node_id != properties.node_id:
            problems.append("Mismatched node IDs between storage directories.")
    if metadata is not None and metadata.version == 0:
        problems.append(
            "The kafka configuration file appears to be for a cluster in KRaft mode, but the directories are formatted "
            "for legacy mode."
        )
    _show(found, metadata, problems, output)
    return 1 if problems else 0


def _read(directory: str) -> MetaProperties | None:
    runtime = AsyncioRuntime()
    try:
        return read_meta_properties(runtime.files, directory)
    finally:
        runtime.close()


def _show(found: list[str], metadata: MetaProperties | None, problems: list[str], output: Output) -> None:
    lines = _section("Found log directory:", "Found log directories:", found)
    fields: dict[str, str] = {}
    if metadata is not None:
        node_key = "broker.id" if metadata.version == 0 else "node.id"
        known = {
            "cluster.id": metadata.cluster_id,
            "directory.id": metadata.directory_id,
            node_key: metadata.node_id,
            "version": metadata.version,
        }
        fields = {key: str(value) for key, value in sorted(known.items()) if value is not None}
        lines += [f"Found metadata: {{{', '.join(f'{key}={value}' for key, value in fields.items())}}}", ""]
    lines += _section("Found problem:", "Found problems:", problems)
    output.show({"directories": found, "metadata": fields or None, "problems": problems}, lines)


def _section(one: str, several: str, entries: list[str]) -> list[str]:
    return [one if len(entries) == 1 else several, *(f"  {entry}" for entry in entries), ""] if entries else []

"""Whose data directories these are, and making them somebody's: what ``ottla storage format`` does.

A node that stands alone is broker, controller and the only voter of its quorum; others come with clusters. ``format``
refuses them by the checks that the start makes, so that what it has formatted starts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ottla.common.error_words import in_words
from ottla.common.errors import InvalidConfigError, KafkaStorageError
from ottla.common.uuid import Uuid
from ottla.config.kafka_config import KafkaConfig
from ottla.config.sections import KraftConfig
from ottla.log.meta_properties import META_PROPERTIES_FILE, read_meta_properties
from ottla.metadata.bootstrap import BootstrapMetadata
from ottla.metadata.features import (
    KRAFT_VERSION,
    METADATA_VERSION,
    NOT_YET_SERVED,
    check_dependencies,
    format_levels,
)
from ottla.metadata.metadata_version import LATEST_PRODUCTION, MetadataVersion
from ottla.raft.errors import FormatterError
from ottla.raft.format import FormatRequest, effective_kraft_version, format_directories
from ottla.raft.initial_controllers import initial_controllers
from ottla.raft.voter_set import ReplicaKey, VoterSet
from ottla.records.control_messages import Endpoint
from ottla.runtime.port import Runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOptions:
    """What may be said besides the cluster id and the configuration."""

    ignore_formatted: bool = False
    release_version: str | None = None
    features: Mapping[str, int] = field(default_factory=dict)
    standalone: bool = False
    no_initial_controllers: bool = False
    initial_controllers: str | None = None


def directories_of(config: KafkaConfig) -> list[str]:
    """Every directory that a node needs: its data directories and the one of the metadata log."""
    return list(dict.fromkeys((*config.log.log_dirs, config.metadata_log_dir)))


def check_roles(kraft: KraftConfig) -> None:
    """InvalidConfigError unless the node is broker and controller."""
    if not (kraft.is_broker and kraft.is_controller):
        raise InvalidConfigError(
            f"process.roles={','.join(kraft.process_roles)} is not supported yet: a node is broker and controller at "
            "once (process.roles=broker,controller)"
        )


def check_start(runtime: Runtime, config: KafkaConfig) -> str:
    """What a start checks before it touches anything; returns the cluster's id.

    InvalidConfigError or KafkaStorageError says what is wrong.
    """
    check_roles(config.kraft)
    return cluster_id_of(runtime, config)


def static_voters(config: KafkaConfig) -> VoterSet | None:
    """The voters of ``controller.quorum.voters``; None if it is not set."""
    voters = config.kraft.controller_quorum_voters
    if not voters:
        return None
    text = ",".join(f"{node_id}@{address.host}:{address.port}" for node_id, address in voters.items())
    return VoterSet.from_static(text, config.listeners.controller_listener_names[0])


def cluster_id_of(runtime: Runtime, config: KafkaConfig) -> str:
    """The cluster that the directories are formatted for; KafkaStorageError says what to do if they are not.

    A directory of another cluster or node is a mistake that ends the start; one that cannot be read may be a broken
    disk, which the others can do without.
    """
    try:
        found = read_meta_properties(runtime.files, config.metadata_log_dir)
    except OSError as error:
        raise KafkaStorageError(
            f"The log directory {config.metadata_log_dir} cannot be read: {in_words(error)}"
        ) from error
    if found is None:
        raise KafkaStorageError(
            f"No `meta.properties` found in {config.metadata_log_dir} (have you run `ottla storage format` to format "
            "the directory?)"
        )
    if found.cluster_id is None:
        raise KafkaStorageError(
            f"{config.metadata_log_dir}/{META_PROPERTIES_FILE} names no cluster: it is damaged, or was never finished"
        )
    for directory in directories_of(config):
        try:
            other = read_meta_properties(runtime.files, directory)
        except (KafkaStorageError, OSError):
            continue
        if other is not None:
            path = f"{directory}/meta.properties"
            other.verify(path, cluster_id=found.cluster_id, node_id=config.kraft.node_id)
    return found.cluster_id


async def format_storage(
    runtime: Runtime, config: KafkaConfig, cluster_id: str, options: FormatOptions | None = None
) -> list[str]:
    """Format every directory of a node; returns what to print.

    FormatterError for what cannot be done, InvalidConfigError for a node that could not start.
    """
    options = options or FormatOptions()
    version, features = _levels(options)
    voters = _initial_controllers(runtime, config, options)
    dynamic = not config.kraft.controller_quorum_voters
    kraft_version = effective_kraft_version(features.pop(KRAFT_VERSION, None), has_dynamic_quorum=dynamic)
    check_roles(config.kraft)
    _check_voters(config, voters)
    bootstrap = BootstrapMetadata.from_versions(version, features, "format command")
    return await format_directories(
        runtime,
        FormatRequest(
            cluster_id=cluster_id,
            node_id=config.kraft.node_id,
            directories=directories_of(config),
            metadata_log_directory=config.metadata_log_dir,
            bootstrap_records=bootstrap.values(),
            bootstrap_description=bootstrap.describe(),
            metadata_version=str(version),
            kraft_version=kraft_version,
            initial_controllers=voters,
            ignore_formatted=options.ignore_formatted,
        ),
    )


async def format_if_new(runtime: Runtime, config: KafkaConfig, cluster_id: str | None = None) -> list[str]:
    """Format the directories of a node that stands alone, unless they are; returns what to print.

    ``cluster_id`` is for new directories, a random one without it; those of another cluster stay what they are.
    """
    found = read_meta_properties(runtime.files, config.metadata_log_dir)
    if found is not None:
        if cluster_id is not None and found.cluster_id != cluster_id:
            return [f"{config.metadata_log_dir} stays with the cluster {found.cluster_id}, not {cluster_id}"]
        return []
    dynamic = not config.kraft.controller_quorum_voters
    options = FormatOptions(standalone=dynamic, ignore_formatted=True)
    return await format_storage(runtime, config, cluster_id or str(Uuid.random(runtime.rng)), options)


def _levels(options: FormatOptions) -> tuple[MetadataVersion, dict[str, int]]:
    """The metadata.version and the levels of all other features."""
    if options.release_version is not None and METADATA_VERSION in options.features:
        raise FormatterError("Use --release-version instead of --feature metadata.version=X to avoid ambiguity.")
    try:
        version = LATEST_PRODUCTION
        if options.release_version is not None:
            version = MetadataVersion.from_version_string(options.release_version)
        elif METADATA_VERSION in options.features:
            version = MetadataVersion.from_feature_level(options.features[METADATA_VERSION])
        chosen = {name: level for name, level in options.features.items() if name != METADATA_VERSION}
        features = format_levels(version) | chosen
        finalized = {**features, METADATA_VERSION: int(version)}
        for name, level in features.items():
            check_dependencies(name, level, finalized)
            if name in NOT_YET_SERVED and level > 0:
                raise ValueError(f"{name}={level} is not supported yet: format with {name}=0, or without it.")
    except ValueError as error:
        raise FormatterError(str(error)) from None
    return version, features


def _check_voters(config: KafkaConfig, initial: VoterSet | None) -> None:
    """The metadata directory gets the id that the quorum knows this node by, if it is one of ``initial``."""
    voters = static_voters(config) or initial or VoterSet()
    voter = voters.node(config.kraft.node_id)
    directory_id = None if voter is None else voter.key.directory_id
    voters.check_only_voter(ReplicaKey(config.kraft.node_id, directory_id))


def _initial_controllers(runtime: Runtime, config: KafkaConfig, options: FormatOptions) -> VoterSet | None:
    """The first voters of a dynamic quorum."""
    advertised = next(iter(config.listeners.advertised_controller_endpoints), None)
    return initial_controllers(
        node_id=config.kraft.node_id,
        is_controller=config.kraft.is_controller,
        has_static_voters=bool(config.kraft.controller_quorum_voters),
        controller_listener=(
            None
            if advertised is None
            else Endpoint(name=advertised.name, host=advertised.host or "", port=advertised.port)
        ),
        listener_name=config.listeners.controller_listener_names[0],
        standalone=options.standalone,
        given=options.initial_controllers,
        none_wanted=options.no_initial_controllers,
        rng=runtime.rng,
    )

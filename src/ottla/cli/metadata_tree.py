"""Metadata as a tree to walk in: directories are dicts, files are text. Paths and texts are those of Kafka's shell.

Where Kafka's shell stumbles, ours does not: the default entities of quotas have names (``user()``) and can be looked
into.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from ottla import __version__
from ottla.cli.metadata_text import (
    acl_text,
    broker_text,
    controller_text,
    optional_text,
    partition_text,
    provenance_text,
    scram_text,
    token_text,
)

if TYPE_CHECKING:
    from ottla.metadata.image.metadata import MetadataImage
    from ottla.metadata.image.topics import TopicImage

Node: TypeAlias = "str | Mapping[str, Node]"


def metadata_tree(image: "MetadataImage") -> dict[str, Node]:
    """The root: the image, and what made it."""
    topics = image.topics
    return {
        "image": {
            "provenance": provenance_text(image.provenance),
            "features": _features(image),
            "cluster": {
                "brokers": {str(number): broker_text(broker) for number, broker in image.cluster.brokers.items()},
                "controllers": {
                    str(number): controller_text(each) for number, each in image.cluster.controllers.items()
                },
            },
            "topics": {
                "byName": {name: _topic(topic) for name, topic in topics.by_name.items()},
                "byId": {str(topic_id): _topic(topic) for topic_id, topic in topics.by_id.items()},
            },
            "configs": {
                _resource_name(resource.type, resource.name): dict(configs)
                for resource, configs in image.configs.resources.items()
            },
            "clientQuotas": _quotas(image),
            "producerIds": {"nextProducerId": str(image.producer_ids.next_producer_id)},
            "acls": {"byId": {str(acl_id): acl_text(acl) for acl_id, acl in image.acls.acls.items()}},
            "scram": _scram(image),
            "delegationToken": {
                token_id: token_text(token) for token_id, token in image.delegation_tokens.tokens.items()
            },
        },
        "local": {"version": __version__, "commitId": "unknown"},
    }


def _features(image: "MetadataImage") -> Node:
    found: dict[str, Node] = {"metadataVersion": optional_text(image.features.metadata_version_or_none)}
    for name, level in image.features.finalized_versions.items():
        found[f"finalized_{name}"] = str(level)
    return found


def _topic(topic: "TopicImage") -> Node:
    partitions: dict[str, Node] = {str(number): partition_text(each) for number, each in topic.partitions.items()}
    return {"name": topic.name, "id": str(topic.id), **partitions}


def _resource_name(kind: int, name: str) -> str:
    from ottla.metadata.image.configs import ConfigResourceType

    try:
        type_name = ConfigResourceType(kind).name
    except ValueError:
        type_name = "UNKNOWN"
    return f"{type_name}:{name}" if name else type_name


def _quotas(image: "MetadataImage") -> Node:
    from ottla.cli.quotas import java_double

    return {
        _entity_name(entity.entries): {key: java_double(value) for key, value in quotas.items()}
        for entity, quotas in image.client_quotas.entities.items()
    }


def _entity_name(entries: tuple[tuple[str, str | None], ...]) -> str:
    """``clientId(a)_user(b)``, with parentheses and backslashes of the names escaped; no name for a default."""
    names = {"client-id": "clientId", "ip": "ip", "user": "user"}
    return "_".join(f"{names.get(kind, kind)}({_escape(name or '')})" for kind, name in sorted(entries))


def _escape(name: str) -> str:
    return name.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _scram(image: "MetadataImage") -> Node:
    from ottla.metadata.image.scram import ScramMechanism

    return {
        mechanism.name.replace("_", "-"): {
            user: scram_text(data) for user, data in image.scram.mechanisms.get(mechanism, {}).items()
        }
        for mechanism in ScramMechanism
        if mechanism is not ScramMechanism.UNKNOWN
    }

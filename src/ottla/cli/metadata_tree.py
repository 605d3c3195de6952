"""Metadata as a tree to walk in: directories are dicts, files are text. The paths are those of Kafka's shell."""

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ottla import __version__
from ottla.cli.message_json import camel_case
from ottla.common.uuid import Uuid

if TYPE_CHECKING:
    from ottla.metadata.image.metadata import MetadataImage
    from ottla.metadata.image.topics import TopicImage

Node: TypeAlias = "str | Mapping[str, Node]"

REDACTED: Final = "[redacted]"
_SECRETS: Final = ("password", "jaas", "secret", "keystore.key")


def metadata_tree(image: "MetadataImage") -> dict[str, Node]:
    """The root: the image, and what made it."""
    topics = image.topics
    return {
        "image": {
            "provenance": as_text(image.provenance),
            "features": _features(image),
            "cluster": {
                "brokers": {str(number): as_text(broker) for number, broker in image.cluster.brokers.items()},
                "controllers": {str(number): as_text(each) for number, each in image.cluster.controllers.items()},
            },
            "topics": {
                "byName": {name: _topic(topic) for name, topic in topics.by_name.items()},
                "byId": {str(topic_id): _topic(topic) for topic_id, topic in topics.by_id.items()},
            },
            "configs": {
                _resource_name(resource.type, resource.name): {
                    key: REDACTED if any(secret in key for secret in _SECRETS) else value
                    for key, value in configs.items()
                }
                for resource, configs in image.configs.resources.items()
            },
            "clientQuotas": {
                _entity_name(entity.entries): {key: str(value) for key, value in quotas.items()}
                for entity, quotas in image.client_quotas.entities.items()
            },
            "producerIds": {"nextProducerId": str(image.producer_ids.next_producer_id)},
            "acls": {str(acl_id): as_text(acl) for acl_id, acl in image.acls.acls.items()},
            "scram": _scram(image),
            "delegationToken": {
                token_id: {"tokenInformation": as_text(token), "expiryTimestamp": str(token.expiration_timestamp)}
                for token_id, token in image.delegation_tokens.tokens.items()
            },
        },
        "local": {"version": __version__, "commitId": "unknown"},
    }


def _features(image: "MetadataImage") -> Node:
    found: dict[str, Node] = {"metadataVersion": str(image.features.metadata_version_or_none)}
    for name, level in image.features.finalized_versions.items():
        found[f"finalized_{name}"] = str(level)
    return found


def _topic(topic: "TopicImage") -> Node:
    partitions: dict[str, Node] = {str(number): as_text(each) for number, each in topic.partitions.items()}
    return {"name": topic.name, "id": str(topic.id), **partitions}


def _resource_name(kind: int, name: str) -> str:
    from ottla.metadata.image.configs import ConfigResourceType

    try:
        type_name = ConfigResourceType(kind).name
    except ValueError:
        type_name = str(kind)
    return f"{type_name}:{name}" if name else type_name


def _entity_name(entries: tuple[tuple[str, str | None], ...]) -> str:
    """``clientId(a)_user(b)``, with parentheses and backslashes of the names escaped."""
    names = {"client-id": "clientId", "ip": "ip", "user": "user"}
    return "_".join(f"{names.get(kind, kind)}({_escape(name or '')})" for kind, name in sorted(entries))


def _escape(name: str) -> str:
    return name.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _scram(image: "MetadataImage") -> Node:
    from ottla.metadata.image.scram import ScramMechanism

    def name(mechanism: int) -> str:
        return ScramMechanism(mechanism).name.replace("_", "-")

    return {
        name(mechanism): {
            user: {"salt": REDACTED, "storedKey": REDACTED, "serverKey": REDACTED, "iterations": str(data.iterations)}
            for user, data in users.items()
        }
        for mechanism, users in image.scram.mechanisms.items()
    }


def as_text(value: Any) -> str:
    """A value with its fields, as Java shows one."""
    if value is None:
        return "null"
    if isinstance(value, str | Uuid):
        return str(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return value.name
    if hasattr(value, "_fields") or hasattr(value, "__dataclass_fields__"):
        names = getattr(value, "_fields", None) or value.__dataclass_fields__
        shown = ", ".join(f"{camel_case(name.lstrip('_'))}={as_text(getattr(value, name))}" for name in names)
        return f"{type(value).__name__}({shown})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{as_text(key)}={as_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, tuple | list | frozenset | set):
        return f"[{', '.join(as_text(each) for each in value)}]"
    return str(value)

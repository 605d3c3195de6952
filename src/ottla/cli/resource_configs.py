"""``ottla configs`` of topics, brokers, broker-loggers, client-metrics and groups."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.configs import singular
from ottla.cli.errors import CommandError
from ottla.cli.output import Output, Table
from ottla.clients.admin import (
    AlterConfigOp,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
)
from ottla.clients.errors import ClusterAuthorizationError, UnsupportedVersionError

if TYPE_CHECKING:
    from ottla.clients.admin import Admin

_TIMEOUT_MS: Final = 30_000
_RESOURCES: Final = {
    "topics": ConfigResourceType.TOPIC,
    "brokers": ConfigResourceType.BROKER,
    "broker-loggers": ConfigResourceType.BROKER_LOGGER,
    "client-metrics": ConfigResourceType.CLIENT_METRICS,
    "groups": ConfigResourceType.GROUP,
}
_DYNAMIC: Final = {
    "topics": "DYNAMIC_TOPIC_CONFIG",
    "brokers": "DYNAMIC_BROKER_CONFIG",
    "client-metrics": "DYNAMIC_CLIENT_METRICS_CONFIG",
    "groups": "DYNAMIC_GROUP_CONFIG",
}
"""Where a setting comes from that somebody has made for such a resource; loggers have no others."""


async def alter(admin: "Admin", kind: str, name: str, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    """Set and delete settings."""
    resource = ConfigResource(_RESOURCES[kind], name)
    if kind == "broker-loggers":
        known = (await admin.describe_configs([resource], timeout_ms=_TIMEOUT_MS))[resource]
        unknown = [key for key in (*deleted, *added) if key not in known]
        if unknown:
            raise CommandError(
                f"Invalid broker logger(s): {','.join(unknown)}",
                hint=f"`ottla configs --describe --broker-logger {name}` shows which there are",
            )
    changes = [AlterConfigOp(key, None, AlterConfigOpType.DELETE) for key in deleted]
    changes += [AlterConfigOp(key, value, AlterConfigOpType.SET) for key, value in added.items()]
    await admin.alter_configs({resource: changes}, timeout_ms=_TIMEOUT_MS)


async def describe(admin: "Admin", kind: str, name: str | None, describe_all: bool, output: Output) -> None:
    """Show the settings of one resource, or of all of the kind."""
    if name and not describe_all and not await _exists(admin, kind, name):
        output.show([], [f"The {singular(kind)} '{name}' doesn't exist and doesn't have dynamic config."])
        return
    names = await _names(admin, kind) if name is None else [name]
    documents: list[dict[str, Any]] = []
    lines: list[str] = []
    tables: list[Table] = []
    for each in names:
        resource = ConfigResource(_RESOURCES[kind], each)
        described = await admin.describe_configs([resource], include_synonyms=True, timeout_ms=_TIMEOUT_MS)
        entries = [
            entry
            for _, entry in sorted(described[resource].items())
            if describe_all or kind not in _DYNAMIC or entry.source.name == _dynamic_source(kind, each)
        ]
        heading = f"{'All' if describe_all else 'Dynamic'} configs for {singular(kind)} {each} are:"
        if not each:
            heading = f"Default configs for {kind} in the cluster are:"
        documents.append({"type": kind, "name": each or None, "configs": [_document(entry) for entry in entries]})
        lines += [heading, *map(entry_line, entries)]
        rows = [(entry.name, entry.value, entry.source.name, _synonyms(entry)) for entry in entries]
        tables.append(Table(("Key", "Value", "Source", "Synonyms"), rows, heading.removesuffix(" are:")))
    output.show(documents, lines, tables)


def _dynamic_source(kind: str, name: str) -> str:
    return "DYNAMIC_DEFAULT_BROKER_CONFIG" if kind == "brokers" and not name else _DYNAMIC[kind]


async def _exists(admin: "Admin", kind: str, name: str) -> bool:
    if kind == "topics":
        return name in await admin.list_topics(include_internal=True)
    if kind in ("brokers", "broker-loggers"):
        return name in {str(node.id) for node in (await admin.describe_cluster()).nodes}
    return name in await _names(admin, kind)


async def _names(admin: "Admin", kind: str) -> list[str]:
    """All resources of a kind; the default of all brokers last."""
    if kind == "topics":
        return sorted(await admin.list_topics(include_internal=True))
    if kind in ("brokers", "broker-loggers"):
        return [*map(str, sorted(node.id for node in (await admin.describe_cluster()).nodes)), ""]
    configured: set[str] = set()
    try:
        configured = {each.name for each in await admin.list_config_resources([_RESOURCES[kind]])}
    except (UnsupportedVersionError, ClusterAuthorizationError):
        if kind != "groups":
            raise
    return sorted(configured | set(await admin.list_groups())) if kind == "groups" else sorted(configured)


def entry_line(entry: ConfigEntry) -> str:
    """Apache's line for a setting."""
    value = "null" if entry.value is None else entry.value
    return f"  {entry.name}={value} sensitive={str(entry.is_sensitive).lower()} synonyms={{{_synonyms(entry)}}}"


def _synonyms(entry: ConfigEntry) -> str:
    return ", ".join(
        f"{_source(each.source)}:{each.name}={'null' if each.value is None else each.value}" for each in entry.synonyms
    )


def _source(source: ConfigSource) -> str:
    return source.name


def _document(entry: ConfigEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "value": entry.value,
        "source": _source(entry.source),
        "sensitive": entry.is_sensitive,
        "read_only": entry.is_read_only,
        "synonyms": [
            {"name": each.name, "value": each.value, "source": _source(each.source)} for each in entry.synonyms
        ],
    }

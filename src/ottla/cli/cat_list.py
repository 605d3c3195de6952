"""``ottla cat -L``: brokers, topics and partitions."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ottla.clients import Admin
    from ottla.clients.admin import ClusterDescription, ClusterNode, PartitionDescription, TopicDescription


async def list_metadata(settings: dict[str, str], options: argparse.Namespace) -> int:
    """Print what the cluster says of itself, and of one topic or all."""
    from ottla.clients import Admin

    async with Admin(settings) as admin:
        cluster = await admin.describe_cluster()
        described = await admin.describe_topics(await _names(admin, options.topic))
    topics = [described[name] for name in sorted(described)]
    if options.json:
        sys.stdout.write(json.dumps(_document(cluster, topics, options.topic), separators=(",", ":")) + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in _lines(cluster, topics, options.topic))
    return 0


async def _names(admin: "Admin", topic: str | None) -> list[str]:
    return [topic] if topic is not None else sorted(await admin.list_topics())


def _lines(cluster: "ClusterDescription", topics: "list[TopicDescription]", topic: str | None) -> list[str]:
    nodes = sorted(cluster.nodes, key=lambda node: node.id)
    lines = [f"Metadata for {topic or 'all topics'} (from broker {nodes[0].id}: {_name(nodes[0])}):"]
    lines.append(f" {len(nodes)} brokers:")
    controller = cluster.controller.id if cluster.controller is not None else None
    for node in nodes:
        note = " (controller)" if node.id == controller else ""
        lines.append(f"  broker {node.id} at {node.host}:{node.port}{note}")
    lines.append(f" {len(topics)} topics:")
    for each in topics:
        lines.append(f'  topic "{each.name}" with {len(each.partitions)} partitions:')
        lines.extend(
            f"    partition {part.partition}, leader {_leader(part)}, replicas: "
            f"{','.join(map(str, part.replicas))}, isrs: {','.join(map(str, part.isr))}"
            for part in each.partitions
        )
    return lines


def _document(cluster: "ClusterDescription", topics: "list[TopicDescription]", topic: str | None) -> dict[str, Any]:
    first = min(cluster.nodes, key=lambda node: node.id)
    return {
        "originating_broker": {"id": first.id, "name": _name(first)},
        "query": {"topic": topic or "*"},
        "controllerid": cluster.controller.id if cluster.controller is not None else -1,
        "brokers": [{"id": node.id, "name": f"{node.host}:{node.port}"} for node in cluster.nodes],
        "topics": [
            {
                "topic": each.name,
                "partitions": [
                    {
                        "partition": part.partition,
                        "leader": _leader(part),
                        "replicas": [{"id": number} for number in part.replicas],
                        "isrs": [{"id": number} for number in part.isr],
                    }
                    for part in each.partitions
                ],
            }
            for each in topics
        ],
    }


def _name(node: "ClusterNode") -> str:
    """As librdkafka calls a broker."""
    return f"{node.host}:{node.port}/{node.id}"


def _leader(partition: "PartitionDescription") -> int:
    return -1 if partition.leader_id is None else partition.leader_id

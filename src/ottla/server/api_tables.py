"""Every API that Ottla answers, by kind of listener: derived from the handlers."""

from collections.abc import Mapping
from typing import Final

from ottla.protocol.api_keys import ApiKey
from ottla.server.api import Api, ListenerType
from ottla.server.handlers import (
    allocate_producer_ids,
    alter_configs,
    alter_partition,
    alter_replica_log_dirs,
    api_versions,
    assign_replicas_to_dirs,
    broker_heartbeat,
    broker_registration,
    controller_registration,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    elect_leaders,
    fetch,
    incremental_alter_configs,
    init_producer_id,
    list_config_resources,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_for_leader_epoch,
    produce,
    unregister_broker,
    update_features,
)

_APIS: Final[tuple[Api, ...]] = (
    *produce.APIS,
    *fetch.APIS,
    *list_offsets.APIS,
    *metadata.APIS,
    *api_versions.APIS,
    *create_topics.APIS,
    *delete_topics.APIS,
    *delete_records.APIS,
    *init_producer_id.APIS,
    *offset_for_leader_epoch.APIS,
    *describe_configs.APIS,
    *alter_configs.APIS,
    *alter_replica_log_dirs.APIS,
    *describe_log_dirs.APIS,
    *create_partitions.APIS,
    *elect_leaders.APIS,
    *incremental_alter_configs.APIS,
    *list_partition_reassignments.APIS,
    *describe_quorum.APIS,
    *alter_partition.APIS,
    *update_features.APIS,
    *describe_cluster.APIS,
    *describe_producers.APIS,
    *broker_registration.APIS,
    *broker_heartbeat.APIS,
    *unregister_broker.APIS,
    *allocate_producer_ids.APIS,
    *controller_registration.APIS,
    *assign_replicas_to_dirs.APIS,
    *list_config_resources.APIS,
    *describe_topic_partitions.APIS,
)


def _table(listener: ListenerType) -> Mapping[ApiKey, Api]:
    rows = [api for api in _APIS if api.listener & listener]
    table = {api.key: api for api in rows}
    assert len(table) == len(rows), "an API has two handlers on one listener"
    return table


BROKER_APIS: Final = _table(ListenerType.BROKER)
CONTROLLER_APIS: Final = _table(ListenerType.CONTROLLER)

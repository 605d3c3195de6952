"""When a node's throttle time binds the client (KIP-219).

Up to a version, the node itself holds the answer back; from then on it answers at once, and the client is to send
nothing for as long as the answer says.
"""

from typing import Final

from ottla.protocol.api_keys import ApiKey

_K = ApiKey

_FIRST_VERSIONS: Final[dict[int, tuple[ApiKey, ...]]] = {
    0: (
        *(_K.ALTER_PARTITION_REASSIGNMENTS, _K.ALTER_USER_SCRAM_CREDENTIALS, _K.BROKER_HEARTBEAT),
        *(_K.BROKER_REGISTRATION, _K.DESCRIBE_TOPIC_PARTITIONS, _K.DESCRIBE_USER_SCRAM_CREDENTIALS),
        *(_K.ELECT_LEADERS, _K.INCREMENTAL_ALTER_CONFIGS, _K.LIST_PARTITION_REASSIGNMENTS, _K.OFFSET_DELETE),
        _K.UNREGISTER_BROKER,
    ),
    1: (
        *(_K.ADD_OFFSETS_TO_TXN, _K.ADD_PARTITIONS_TO_TXN, _K.ALTER_CONFIGS, _K.ALTER_REPLICA_LOG_DIRS),
        *(_K.CREATE_ACLS, _K.CREATE_DELEGATION_TOKEN, _K.CREATE_PARTITIONS, _K.DELETE_ACLS, _K.DELETE_GROUPS),
        *(_K.DELETE_RECORDS, _K.DESCRIBE_ACLS, _K.DESCRIBE_DELEGATION_TOKEN, _K.DESCRIBE_LOG_DIRS, _K.END_TXN),
        *(_K.EXPIRE_DELEGATION_TOKEN, _K.INIT_PRODUCER_ID, _K.RENEW_DELEGATION_TOKEN, _K.TXN_OFFSET_COMMIT),
    ),
    2: (
        *(_K.API_VERSIONS, _K.DELETE_TOPICS, _K.DESCRIBE_CONFIGS, _K.DESCRIBE_GROUPS, _K.FIND_COORDINATOR),
        *(_K.HEARTBEAT, _K.LEAVE_GROUP, _K.LIST_GROUPS, _K.SYNC_GROUP),
    ),
    3: (_K.CREATE_TOPICS, _K.JOIN_GROUP, _K.LIST_OFFSETS),
    4: (_K.OFFSET_COMMIT, _K.OFFSET_FETCH),
    6: (_K.METADATA, _K.PRODUCE),
    8: (_K.FETCH,),
}

CLIENT_THROTTLES_FROM: Final = {key: version for version, keys in _FIRST_VERSIONS.items() for key in keys}
"""By API, the first version in which the client waits. Apache's clients never wait on account of any other API."""


def should_client_throttle(api_key: ApiKey, version: int) -> bool:
    """Whether a throttle time in this answer is for the client to heed."""
    return version >= CLIENT_THROTTLES_FROM.get(api_key, 1 << 15)

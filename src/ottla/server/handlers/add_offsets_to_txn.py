"""AddOffsetsToTxn 0–4: the offsets of a group become part of a transaction.

Producers of transactions v2 do not ask: their TxnOffsetCommit does it on the way.
"""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, require_group, require_transactional_id
from ottla.server.services import BrokerServices


def handle(
    services: BrokerServices, context: RequestContext, body: AddOffsetsToTxnRequest
) -> Awaitable[AddOffsetsToTxnResponse]:
    """Add the group's partition of ``__consumer_offsets``."""
    require_transactional_id(services.authorizer, context, AclOperation.WRITE, body.transactional_id)
    require_group(services.authorizer, context, AclOperation.READ, body.group_id)
    return services.transaction_coordinator.add_offsets_to_txn(body, context.header.api_version)


APIS: Final = (Api(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4, handle),)

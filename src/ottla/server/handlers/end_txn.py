"""EndTxn 0–5: commit or abort a transaction. From version 5 on (transactions v2) the producer's epoch is bumped."""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, require_transactional_id
from ottla.server.services import BrokerServices


def handle(services: BrokerServices, context: RequestContext, body: EndTxnRequest) -> Awaitable[EndTxnResponse]:
    """Answered when the outcome is decided for good; the markers follow."""
    require_transactional_id(services.authorizer, context, AclOperation.WRITE, body.transactional_id)
    return services.transaction_coordinator.end_txn(body, context.header.api_version)


APIS: Final = (Api(ApiKey.END_TXN, 0, 5, handle),)

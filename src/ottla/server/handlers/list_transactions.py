"""ListTransactions 0–2: the transactions that this broker coordinates, by state, producer, duration and pattern."""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from ottla.runtime.completion_chain import then
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType
from ottla.server.services import BrokerServices


def handle(
    services: BrokerServices, context: RequestContext, body: ListTransactionsRequest
) -> Awaitable[ListTransactionsResponse]:
    """Those that the client may see."""
    authorize = services.authorizer.authorize

    def visible(response: ListTransactionsResponse) -> ListTransactionsResponse:
        response.transaction_states = [
            state
            for state in response.transaction_states
            if authorize(context, AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, state.transactional_id)
        ]
        return response

    return then(services.transaction_coordinator.list_transactions(body), visible)


APIS: Final = (Api(ApiKey.LIST_TRANSACTIONS, 0, 2, handle),)

"""DescribeTransactions 0: the state of transactional ids that this broker coordinates."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType
from ottla.server.services import BrokerServices


async def handle(
    services: BrokerServices, context: RequestContext, body: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    """Each transactional id on its own; of its topics those that the client may see."""
    authorize = services.authorizer.authorize
    states = []
    for transactional_id in body.transactional_ids:
        if not authorize(context, AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transactional_id):
            states.append(_refused(transactional_id, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
            continue
        state = await services.transaction_coordinator.describe_transaction(transactional_id)
        state.topics = [
            topic
            for topic in state.topics
            if authorize(context, AclOperation.DESCRIBE, ResourceType.TOPIC, topic.topic)
        ]
        states.append(state)
    return DescribeTransactionsResponse(transaction_states=states)


def _refused(transactional_id: str, code: int) -> TransactionState:
    return TransactionState(transactional_id=transactional_id, error_code=code)


def error_response(body: DescribeTransactionsRequest, error: KafkaError) -> DescribeTransactionsResponse:
    """The error, at every transactional id."""
    return DescribeTransactionsResponse(
        transaction_states=[_refused(transactional_id, error.code) for transactional_id in body.transactional_ids]
    )


APIS: Final = (Api(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0, handle, error_response=error_response),)

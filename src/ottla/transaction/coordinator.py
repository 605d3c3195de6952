"""The transaction coordinator as handlers see it: a method for each API that producers and tools ask it with.

Except for ``add_partitions``, which others build on, every answer is a response, one with an error too.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeVar

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.internal_topics import GROUP_METADATA_TOPIC
from ottla.common.topic_partition import TopicPartition
from ottla.config.sections import TransactionConfig
from ottla.metrics.registry import Registry
from ottla.protocol.messages import describe_transactions, list_transactions
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from ottla.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.runtime.completion import Completion
from ottla.runtime.completion_chain import gather, recover, then
from ottla.transaction.end_transaction import EndTransaction
from ottla.transaction.init_validation import validate_init_producer_id
from ottla.transaction.listing import describe, transaction_filter
from ottla.transaction.markers import MarkerSender
from ottla.transaction.metadata import NO_PRODUCER, ProducerIdAndEpoch
from ottla.transaction.metrics import TransactionCoordinatorMetrics
from ottla.transaction.ports import GenerateProducerId, OffsetsPartition
from ottla.transaction.shard import TransactionCoordinatorShard
from ottla.transaction.transaction_shards import TransactionShards
from ottla.transaction.transaction_version import TransactionVersion

T = TypeVar("T")

INIT_PRODUCER_ID_FENCED: Final = 4
END_TXN_FENCED: Final = 2
ADD_OFFSETS_TO_TXN_FENCED: Final = 2
"""The versions of requests from which clients know PRODUCER_FENCED; before, it is INVALID_PRODUCER_EPOCH."""


class TransactionCoordinator:
    """See the module. COORDINATOR_NOT_AVAILABLE before ``startup`` and after ``shutdown``.

    The runtime is made with ``new_shard``, and then given to ``run_on``.
    """

    def __init__(
        self,
        config: TransactionConfig,
        *,
        generate_producer_id: GenerateProducerId,
        marker_sender: MarkerSender,
        offsets_partition: OffsetsPartition,
        registry: Registry,
    ) -> None:
        self._config = config
        self._generate_producer_id = generate_producer_id
        self._offsets_partition = offsets_partition
        self._shards = shards = TransactionShards(
            config,
            generate_producer_id=generate_producer_id,
            marker_sender=marker_sender,
            metrics=TransactionCoordinatorMetrics(registry),
        )
        self.new_shard = shards.new_shard
        self.run_on = shards.run_on
        self.startup = shards.partitioner.startup
        self.shutdown = shards.partitioner.shutdown
        self.partition_for = shards.partitioner.partition_for
        self.on_election = shards.on_election
        self.on_resignation = shards.on_resignation
        self.on_metadata = shards.on_metadata

    # -- producers ----------------------------------------------------------------------------------------------------

    def init_producer_id(self, request: InitProducerIdRequest, api_version: int) -> Completion[InitProducerIdResponse]:
        """Who a producer is from now on."""

        def answer(error_code: int, producer: ProducerIdAndEpoch) -> InitProducerIdResponse:
            code = _told(error_code, knows_fenced=api_version >= INIT_PRODUCER_ID_FENCED)
            return InitProducerIdResponse(
                error_code=code, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch
            )

        def initialize() -> Completion[InitProducerIdResponse]:
            init = validate_init_producer_id(request, self._config)
            if init is None:
                return then(
                    self._generate_producer_id(), lambda new_id: answer(ErrorCode.NONE, ProducerIdAndEpoch(new_id, 0))
                )
            decided = self._shards.decide(
                init.transactional_id, lambda shard, new_id, now_ms: shard.init_producer_id(init, new_id, now_ms)
            )
            return then(decided, lambda outcome: answer(outcome.error_code, outcome.producer))

        return _answered(initialize, lambda error: answer(error.code, NO_PRODUCER))

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        *,
        client_transaction_version: int,
    ) -> Completion[None]:
        """Let partitions take part in a transaction; fails as a whole."""
        producer = ProducerIdAndEpoch(producer_id, producer_epoch)
        version = TransactionVersion(client_transaction_version)
        try:
            return self._shards.write(
                transactional_id,
                lambda shard, now_ms: shard.add_partitions(transactional_id, producer, partitions, version, now_ms),
            )
        except KafkaError as error:
            return Completion.failed(error)

    def verify_partitions(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Collection[TopicPartition]
    ) -> Completion[Mapping[TopicPartition, int]]:
        """The error code of each partition: 0 for those that take part."""
        producer = ProducerIdAndEpoch(producer_id, producer_epoch)

        def verify(shard: TransactionCoordinatorShard) -> Mapping[TopicPartition, int]:
            return shard.verify_partitions(transactional_id, producer, partitions)

        return _answered(
            lambda: self._shards.read(transactional_id, verify), lambda error: dict.fromkeys(partitions, error.code)
        )

    def add_offsets_to_txn(
        self, request: AddOffsetsToTxnRequest, api_version: int
    ) -> Completion[AddOffsetsToTxnResponse]:
        """Let the offsets of a group take part; producers of transactions v2 do not ask."""

        def add() -> Completion[AddOffsetsToTxnResponse]:
            offsets_partition = TopicPartition(GROUP_METADATA_TOPIC, self._offsets_partition(request.group_id))
            added = self.add_partitions(
                request.transactional_id,
                request.producer_id,
                request.producer_epoch,
                (offsets_partition,),
                client_transaction_version=TransactionVersion.TV_0,
            )
            return then(added, lambda _: AddOffsetsToTxnResponse())

        def refused(error: KafkaError) -> AddOffsetsToTxnResponse:
            code = _told(error.code, knows_fenced=api_version >= ADD_OFFSETS_TO_TXN_FENCED)
            return AddOffsetsToTxnResponse(error_code=code)

        return _answered(add, refused)

    def end_txn(self, request: EndTxnRequest, api_version: int) -> Completion[EndTxnResponse]:
        """Commit or abort; answered when the outcome is decided for good, before the markers are written."""
        end = EndTransaction(
            request.transactional_id,
            ProducerIdAndEpoch(request.producer_id, request.producer_epoch),
            request.committed,
            TransactionVersion.for_end_txn(api_version),
        )

        def decide() -> Completion[EndTxnResponse]:
            decided = self._shards.decide(
                end.transactional_id, lambda shard, new_id, now_ms: shard.end_transaction(end, new_id, now_ms)
            )
            return then(
                decided,
                lambda outcome: EndTxnResponse(
                    producer_id=outcome.producer.producer_id, producer_epoch=outcome.producer.producer_epoch
                ),
            )

        def refused(error: KafkaError) -> EndTxnResponse:
            return EndTxnResponse(error_code=_told(error.code, knows_fenced=api_version >= END_TXN_FENCED))

        return _answered(decide, refused)

    # -- looking ------------------------------------------------------------------------------------------------------

    def describe_transaction(self, transactional_id: str) -> Completion[describe_transactions.TransactionState]:
        """All about the transaction of one transactional id."""

        def look(shard: TransactionCoordinatorShard) -> describe_transactions.TransactionState:
            metadata = shard.get(transactional_id)
            if metadata is None:
                raise ApiError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, "the transactional id is not known")
            return describe(metadata)

        def refused(error: KafkaError) -> describe_transactions.TransactionState:
            return describe_transactions.TransactionState(transactional_id=transactional_id, error_code=error.code)

        return _answered(lambda: self._shards.read(transactional_id, look), refused)

    def list_transactions(
        self, request: list_transactions.ListTransactionsRequest
    ) -> Completion[list_transactions.ListTransactionsResponse]:
        """The transactions of all shards here; COORDINATOR_LOAD_IN_PROGRESS while one is being loaded."""

        def look() -> Completion[list_transactions.ListTransactionsResponse]:
            self._shards.partitioner.check_started()
            wanted, unknown = transaction_filter(request)
            found = self._shards.runtime.read_all(wanted.list)
            return then(
                gather([recover(each, _nothing_unless_loading) for each in found]),
                lambda lists: list_transactions.ListTransactionsResponse(
                    unknown_state_filters=unknown, transaction_states=[state for states in lists for state in states]
                ),
            )

        return _answered(look, lambda error: list_transactions.ListTransactionsResponse(error_code=error.code))


def _answered(ask: Callable[[], Completion[T]], answer: Callable[[KafkaError], T]) -> Completion[T]:
    """What ``ask`` leads to; ``answer`` makes a response of an error."""
    try:
        return recover(ask(), answer)
    except KafkaError as error:
        return Completion.done(answer(error))


def _told(error_code: int, *, knows_fenced: bool) -> int:
    """Old clients have another word for PRODUCER_FENCED."""
    if error_code == ErrorCode.PRODUCER_FENCED and not knows_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error_code


def _nothing_unless_loading(error: KafkaError) -> list[list_transactions.TransactionState]:
    """A partition that is not here has no transactions; one that is being loaded may have any."""
    if error.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        raise error
    return []

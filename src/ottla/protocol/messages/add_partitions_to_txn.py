"""AddPartitionsToTxn (api key 24)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, INT16, INT32, INT64, STRING, ArrayOf, Message, field


class AddPartitionsToTxnTopic(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class AddPartitionsToTxnTransaction(Message):
    transactional_id: str = field(STRING, "4+", default="")
    producer_id: int = field(INT64, "4+", default=0)
    producer_epoch: int = field(INT16, "4+", default=0)
    verify_only: bool = field(BOOL, "4+", default=False)
    topics: Sequence[AddPartitionsToTxnTopic] = field(ArrayOf(AddPartitionsToTxnTopic), "4+", default=())


class AddPartitionsToTxnRequest(Message, api_key=24, versions="0-5", flexible="3+"):
    transactions: Sequence[AddPartitionsToTxnTransaction] = field(
        ArrayOf(AddPartitionsToTxnTransaction), "4+", default=()
    )
    v3_and_below_transactional_id: str = field(STRING, "0-3", default="")
    v3_and_below_producer_id: int = field(INT64, "0-3", default=0)
    v3_and_below_producer_epoch: int = field(INT16, "0-3", default=0)
    v3_and_below_topics: Sequence[AddPartitionsToTxnTopic] = field(ArrayOf(AddPartitionsToTxnTopic), "0-3", default=())


class AddPartitionsToTxnPartitionResult(Message):
    partition_index: int = field(INT32, "0+", default=0)
    partition_error_code: int = field(INT16, "0+", default=0)


class AddPartitionsToTxnTopicResult(Message):
    name: str = field(STRING, "0+", default="")
    results_by_partition: Sequence[AddPartitionsToTxnPartitionResult] = field(
        ArrayOf(AddPartitionsToTxnPartitionResult), "0+", default=()
    )


class AddPartitionsToTxnResult(Message):
    transactional_id: str = field(STRING, "4+", default="")
    topic_results: Sequence[AddPartitionsToTxnTopicResult] = field(
        ArrayOf(AddPartitionsToTxnTopicResult), "4+", default=()
    )


class AddPartitionsToTxnResponse(Message, api_key=24, versions="0-5", flexible="3+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "4+", default=0)
    results_by_transaction: Sequence[AddPartitionsToTxnResult] = field(
        ArrayOf(AddPartitionsToTxnResult), "4+", default=()
    )
    results_by_topic_v3_and_below: Sequence[AddPartitionsToTxnTopicResult] = field(
        ArrayOf(AddPartitionsToTxnTopicResult), "0-3", default=()
    )

"""WriteTxnMarkers (api key 27)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, INT8, INT16, INT32, INT64, STRING, ArrayOf, Message, field


class WritableTxnMarkerTopic(Message):
    name: str = field(STRING, "0+", default="")
    partition_indexes: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class WritableTxnMarker(Message):
    producer_id: int = field(INT64, "0+", default=0)
    producer_epoch: int = field(INT16, "0+", default=0)
    transaction_result: bool = field(BOOL, "0+", default=False)
    topics: Sequence[WritableTxnMarkerTopic] = field(ArrayOf(WritableTxnMarkerTopic), "0+", default=())
    coordinator_epoch: int = field(INT32, "0+", default=0)
    transaction_version: int = field(INT8, "2+", default=0)


class WriteTxnMarkersRequest(Message, api_key=27, versions="1-2", flexible="1+"):
    markers: Sequence[WritableTxnMarker] = field(ArrayOf(WritableTxnMarker), "0+", default=())


class WritableTxnMarkerPartitionResult(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)


class WritableTxnMarkerTopicResult(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[WritableTxnMarkerPartitionResult] = field(
        ArrayOf(WritableTxnMarkerPartitionResult), "0+", default=()
    )


class WritableTxnMarkerResult(Message):
    producer_id: int = field(INT64, "0+", default=0)
    topics: Sequence[WritableTxnMarkerTopicResult] = field(ArrayOf(WritableTxnMarkerTopicResult), "0+", default=())


class WriteTxnMarkersResponse(Message, api_key=27, versions="1-2", flexible="1+"):
    markers: Sequence[WritableTxnMarkerResult] = field(ArrayOf(WritableTxnMarkerResult), "0+", default=())

"""DeleteRecords (api key 21)."""

from collections.abc import Sequence

from ottla.protocol.message import INT16, INT32, INT64, STRING, ArrayOf, Message, field


class DeleteRecordsPartition(Message):
    partition_index: int = field(INT32, "0+", default=0)
    offset: int = field(INT64, "0+", default=0)


class DeleteRecordsTopic(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[DeleteRecordsPartition] = field(ArrayOf(DeleteRecordsPartition), "0+", default=())


class DeleteRecordsRequest(Message, api_key=21, versions="0-2", flexible="2+"):
    topics: Sequence[DeleteRecordsTopic] = field(ArrayOf(DeleteRecordsTopic), "0+", default=())
    timeout_ms: int = field(INT32, "0+", default=0)


class DeleteRecordsPartitionResult(Message):
    partition_index: int = field(INT32, "0+", default=0)
    low_watermark: int = field(INT64, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)


class DeleteRecordsTopicResult(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[DeleteRecordsPartitionResult] = field(ArrayOf(DeleteRecordsPartitionResult), "0+", default=())


class DeleteRecordsResponse(Message, api_key=21, versions="0-2", flexible="2+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    topics: Sequence[DeleteRecordsTopicResult] = field(ArrayOf(DeleteRecordsTopicResult), "0+", default=())

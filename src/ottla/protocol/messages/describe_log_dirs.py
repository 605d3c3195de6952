"""DescribeLogDirs (api key 35)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, INT16, INT32, INT64, STRING, ArrayOf, Message, field


class DescribableLogDirTopic(Message):
    topic: str = field(STRING, "0+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class DescribeLogDirsRequest(Message, api_key=35, versions="1-5", flexible="2+"):
    topics: Sequence[DescribableLogDirTopic] | None = field(
        ArrayOf(DescribableLogDirTopic), "0+", default=(), nullable="0+"
    )


class DescribeLogDirsPartition(Message):
    partition_index: int = field(INT32, "0+", default=0)
    partition_size: int = field(INT64, "0+", default=0)
    offset_lag: int = field(INT64, "0+", default=0)
    is_future_key: bool = field(BOOL, "0+", default=False)


class DescribeLogDirsTopic(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[DescribeLogDirsPartition] = field(ArrayOf(DescribeLogDirsPartition), "0+", default=())


class DescribeLogDirsResult(Message):
    error_code: int = field(INT16, "0+", default=0)
    log_dir: str = field(STRING, "0+", default="")
    topics: Sequence[DescribeLogDirsTopic] = field(ArrayOf(DescribeLogDirsTopic), "0+", default=())
    total_bytes: int = field(INT64, "4+", default=-1)
    usable_bytes: int = field(INT64, "4+", default=-1)
    is_cordoned: bool = field(BOOL, "5+", default=False)


class DescribeLogDirsResponse(Message, api_key=35, versions="1-5", flexible="2+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "3+", default=0)
    results: Sequence[DescribeLogDirsResult] = field(ArrayOf(DescribeLogDirsResult), "0+", default=())

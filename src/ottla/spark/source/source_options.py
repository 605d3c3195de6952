"""All options of a reader, checked: those of Spark's own Kafka connector, and a few more. Pure."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ottla.common.errors import InvalidConfigError
from ottla.config.client_configs import ConsumerConfig
from ottla.spark.columns import DEFAULT_COLUMNS, parse_columns
from ottla.spark.options import Options, refuse_kafka, require_bootstrap_servers
from ottla.spark.scan.scan_options import ScanOptions
from ottla.spark.source.offset_bound import EARLIEST, LATEST, OffsetBound, Side, check_batch_bounds, parse_bound
from ottla.spark.source.task_planner import DEFAULT_MIN_RECORDS, PlanSettings
from ottla.spark.source.topic_selection import STRATEGIES, TopicSelection, parse_selection

logger = logging.getLogger(__name__)

DEFAULT_MAX_TRIGGER_DELAY_MS: Final = 15 * 60 * 1000
DEFAULT_METADATA_TTL_MS: Final = 500

_CLIENT_ID: Final = "spark-ottla-source"

_ENDING: Final = ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")
_PER_TRIGGER: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
OPTION_NAMES: Final = (
    *STRATEGIES,
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "startingOffsetsByTimestampStrategy",
    *_ENDING,
    *_PER_TRIGGER,
    "failOnDataLoss",
    "includeHeaders",
    "columns",
    "minPartitions",
    "maxRecordsPerPartition",
    "minRecordsPerPartition",
    "groupIdPrefix",
    "commitOffsetsToGroup",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "partition.metadata.cache.ttl.ms",
)
_REFUSED: Final = {
    "auto.offset.reset": "where a query starts is said by option 'startingOffsets', and after that by its checkpoint",
    "key.deserializer": "keys are bytes here; make something else of them with the DataFrame's functions",
    "value.deserializer": "values are bytes here; make something else of them with the DataFrame's functions",
    "enable.auto.commit": "offsets are in the query's checkpoint; option 'commitOffsetsToGroup' shows them to Kafka",
    "interceptor.classes": "interceptors could change records on their way",
}


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What a query reads and how; picklable."""

    client: dict[str, str]
    selection: TopicSelection
    starting: OffsetBound
    ending: OffsetBound
    columns: tuple[str, ...]
    read_committed: bool
    fail_on_data_loss: bool
    plan: PlanSettings
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    commit_group: str | None
    offset_retries: int
    offset_retry_interval_ms: int
    metadata_ttl_ms: int

    def scan_options(self) -> ScanOptions:
        """What the tasks need to know of it."""
        return ScanOptions(
            client=self.client,
            columns=self.columns,
            read_committed=self.read_committed,
            fail_on_data_loss=self.fail_on_data_loss,
        )


def parse_source_options(given: Mapping[str, str], *, is_stream: bool | None = None) -> SourceOptions:
    """The options of a stream, of a batch, or of either (None: what is wrong in only one of them is not found).

    Raises InvalidConfigError in one sentence.
    """
    options = Options(given)
    options.refuse_unknown(OPTION_NAMES)
    require_bootstrap_servers(options)
    refuse_kafka(options.kafka, _REFUSED)
    consumer = ConsumerConfig.parse(options.kafka)
    selection = parse_selection(options)
    starting = parse_bound(options, Side.STARTING, LATEST if is_stream else EARLIEST)
    ending = parse_bound(options, Side.ENDING, LATEST)
    if is_stream is False:
        check_batch_bounds(starting, ending)
        _warn_of_ignored(options)
    for name in _ENDING:
        if is_stream and name in options:
            raise InvalidConfigError(f"Option '{name}' is for batches: a stream has no end")
    max_offsets, min_offsets = options.integer(_PER_TRIGGER[0], minimum=1), options.integer(_PER_TRIGGER[1], minimum=1)
    if max_offsets is not None and min_offsets is not None and min_offsets > max_offsets:
        raise InvalidConfigError(
            f"minOffsetsPerTrigger ({min_offsets}) is higher than maxOffsetsPerTrigger ({max_offsets})"
        )
    delay_ms = options.duration_ms(_PER_TRIGGER[2])
    group = options.text("commitOffsetsToGroup")
    if group == "":
        raise InvalidConfigError("Option 'commitOffsetsToGroup' is the name of a consumer group, and empty")
    return SourceOptions(
        client={"client.id": options.text("groupIdPrefix") or _CLIENT_ID, **options.kafka},
        selection=selection,
        starting=starting,
        ending=ending,
        columns=_columns(options),
        read_committed=consumer.isolation_level == "read_committed",
        fail_on_data_loss=options.boolean("failOnDataLoss", default=True),
        plan=PlanSettings(
            min_tasks=options.integer("minPartitions", minimum=1) or 1,
            max_records=options.integer("maxRecordsPerPartition", minimum=1),
            min_records=options.integer("minRecordsPerPartition", minimum=1) or DEFAULT_MIN_RECORDS,
        ),
        max_offsets_per_trigger=max_offsets,
        min_offsets_per_trigger=min_offsets,
        max_trigger_delay_ms=DEFAULT_MAX_TRIGGER_DELAY_MS if delay_ms is None else delay_ms,
        commit_group=group,
        offset_retries=options.integer("fetchOffset.numRetries", minimum=1) or 3,
        offset_retry_interval_ms=_or(options.integer("fetchOffset.retryIntervalMs", minimum=0), 1000),
        metadata_ttl_ms=_or(options.integer("partition.metadata.cache.ttl.ms", minimum=-1), DEFAULT_METADATA_TTL_MS),
    )


def _columns(options: Options) -> tuple[str, ...]:
    text = options.text("columns")
    has_headers = options.boolean("includeHeaders", default=False)
    if text is not None:
        return parse_columns(text)
    return (*DEFAULT_COLUMNS, "headers") if has_headers else DEFAULT_COLUMNS


def _warn_of_ignored(options: Options) -> None:
    for name in _PER_TRIGGER:
        if name in options:
            logger.warning("Option '%s' does nothing in a batch", name)


def _or(value: int | None, default: int) -> int:
    return default if value is None else value

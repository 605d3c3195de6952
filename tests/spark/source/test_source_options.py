import pickle

import pytest

from ottla.common.errors import InvalidConfigError
from ottla.common.topic_partition import TopicPartition
from ottla.spark.columns import ALL_COLUMNS, DEFAULT_COLUMNS
from ottla.spark.source.offset_bound import EARLIEST, LATEST, OffsetBound
from ottla.spark.source.offset_json import nested_of, offsets_of
from ottla.spark.source.source_options import OPTION_NAMES, SourceOptions, parse_source_options

GIVEN = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "t"}
A, B = TopicPartition("t", 0), TopicPartition("t", 10)


def parse(is_stream: bool | None = None, /, **more: str) -> SourceOptions:
    return parse_source_options(
        {**GIVEN, **{name.replace("__", "."): text for name, text in more.items()}}, is_stream=is_stream
    )


def without(name: str, **more: str) -> dict[str, str]:
    return {key: text for key, text in {**GIVEN, **more}.items() if key != name}


def test_the_defaults_are_the_stock_connectors() -> None:
    batch, stream = parse(False), parse(True)
    assert (batch.starting, batch.ending) == (OffsetBound(everywhere=EARLIEST), OffsetBound(everywhere=LATEST))
    assert stream.starting == OffsetBound(everywhere=LATEST)
    assert stream.fail_on_data_loss
    assert not stream.read_committed
    assert stream.columns == DEFAULT_COLUMNS
    assert (stream.max_offsets_per_trigger, stream.min_offsets_per_trigger) == (None, None)
    assert stream.max_trigger_delay_ms == 900_000
    assert stream.commit_group is None


def test_names_are_found_in_any_case() -> None:
    options = parse_source_options(
        {
            "KAFKA.Bootstrap.Servers": "h:1",
            "SUBSCRIBE": " t , u,,t ",
            "INCLUDEHEADERS": "TRUE",
            "FailOnDataLoss": "False",
        }
    )
    assert options.client == {"bootstrap.servers": "h:1", "client.id": "spark-ottla-source"}
    assert options.selection.topics == ("t", "u")
    assert options.columns == ALL_COLUMNS
    assert not options.fail_on_data_loss


def test_every_documented_option_is_taken() -> None:
    values = dict.fromkeys(OPTION_NAMES, "1") | {
        "startingOffsets": "earliest",
        "endingOffsets": "latest",
        "startingOffsetsByTimestamp": '{"t": {"0": 1}}',
        "endingOffsetsByTimestamp": '{"t": {"0": 2}}',
        "startingOffsetsByTimestampStrategy": "latest",
        "failOnDataLoss": "false",
        "includeHeaders": "true",
        "columns": "value",
        "maxTriggerDelay": "5m",
    }
    for strategy, value in {"subscribe": "t", "subscribePattern": "t.*", "assign": '{"t": [0]}'}.items():
        given = {name: text for name, text in values.items() if name not in ("subscribe", "subscribePattern", "assign")}
        parse_source_options({"kafka.bootstrap.servers": "h:1", strategy: value, **given})


def test_options_survive_pickling() -> None:
    options = parse(True, startingOffsets='{"t": {"0": 5, "10": -1}}')
    assert pickle.loads(pickle.dumps(options)) == options


def test_columns_are_in_the_order_of_the_schema() -> None:
    assert parse(columns="offset, VALUE,headers").columns == ("value", "offset", "headers")


def test_the_query_has_a_name_in_the_brokers_logs_and_quotas() -> None:
    assert parse(groupIdPrefix="orders").client["client.id"] == "orders"
    assert parse(groupIdPrefix="orders", kafka__client__id="mine").client["client.id"] == "mine"


def test_isolation_is_the_consumers() -> None:
    options = parse(kafka__isolation__level="read_committed")
    assert options.read_committed
    assert options.scan_options().read_committed


def test_a_time_for_all_goes_before_times_and_times_before_offsets() -> None:
    offsets = {"startingOffsets": '{"t": {"0": 5, "10": -2}}'}
    times = {"startingOffsetsByTimestamp": '{"t": {"0": 70, "10": 80}}'}
    assert parse(**offsets).starting == OffsetBound(offsets={A: 5, B: EARLIEST})
    assert parse(**offsets, **times).starting == OffsetBound(times={A: 70, B: 80})
    assert parse(**offsets, **times, startingTimestamp="9").starting == OffsetBound(timestamp_ms=9)
    assert parse(startingTimestamp="9", startingOffsetsByTimestampStrategy="Latest").starting.or_latest


def test_what_is_looked_up_of_a_bound() -> None:
    assert OffsetBound(everywhere=LATEST).queries([A]) == {A: LATEST}
    assert OffsetBound(timestamp_ms=7).queries([A, B]) == {A: 7, B: 7}
    assert OffsetBound(times={A: 7}).queries([A]) == {A: 7}
    assert OffsetBound(offsets={A: 5, B: EARLIEST}).queries([A, B]) == {B: EARLIEST}


def test_which_beginnings_move() -> None:
    assert OffsetBound(everywhere=LATEST).floating({A: 5}) == {A}
    assert OffsetBound(everywhere=EARLIEST).floating({A: 5}) == set()
    assert OffsetBound(offsets={A: 5, B: LATEST}).floating({B: 3}) == {B}
    assert OffsetBound(timestamp_ms=5, or_latest=True).floating({A: 5, B: None}) == {B}


def test_offsets_are_kept_in_one_order() -> None:
    text = '{"t": {"2": 1, "10": 2}, "a": {"0": 3}}'
    offsets = {TopicPartition("t", 10): 2, TopicPartition("a", 0): 3, TopicPartition("t", 2): 1}
    assert list(nested_of(offsets)) == ["a", "t"]
    assert list(nested_of(offsets)["t"]) == ["2", "10"]
    assert offsets_of(nested_of(offsets)) == offsets
    assert parse(startingOffsets=text).starting.offsets == offsets


@pytest.mark.parametrize(
    ("is_stream", "given", "message"),
    [
        (
            None,
            without("subscribe"),
            "One of the options subscribe, subscribePattern, assign says what to read, and none is",
        ),
        (None, {**GIVEN, "assign": '{"t": [0]}'}, "subscribe and assign are given"),
        (None, without("kafka.bootstrap.servers"), "Option 'kafka.bootstrap.servers' must be given"),
        (None, {**GIVEN, "provider": "ottla"}, "CREATE TABLE cannot be used: Spark does not hand the options"),
        (None, {}, "(Spark does not hand the options of a table to a source in Python; CREATE TEMPORARY VIEW has"),
        (None, {**GIVEN, "subscribe": " , "}, "Option 'subscribe' names no topic"),
        (None, without("subscribe", subscribePattern=" "), "Option 'subscribePattern' is empty"),
        (None, without("subscribe", subscribePattern="("), "Option 'subscribePattern' is no regular expression"),
        (None, without("subscribe", assign="t"), "Option 'assign' is JSON such as"),
        (None, without("subscribe", assign="{}"), "Option 'assign' names no partition"),
        (
            None,
            {**GIVEN, "startingOffset": "earliest"},
            "There is no option 'startingoffset'; is 'startingOffsets' meant?",
        ),
        (None, {**GIVEN, "session.timeout.ms": "5"}, "is given as 'kafka.session.timeout.ms'"),
        (None, {**GIVEN, "kafka.fetch.max.byte": "5"}, "fetch.max.bytes"),
        (None, {**GIVEN, "kafka.auto.offset.reset": "latest"}, "'startingOffsets'"),
        (None, {**GIVEN, "kafka.key.deserializer": "x"}, "keys are bytes"),
        (None, {**GIVEN, "kafka.value.deserializer": "x"}, "values are bytes"),
        (None, {**GIVEN, "kafka.enable.auto.commit": "true"}, "'commitOffsetsToGroup'"),
        (None, {**GIVEN, "kafka.interceptor.classes": "x"}, "interceptors"),
        (None, {**GIVEN, "minPartitions": "0"}, "Option 'minPartitions' is at least 1, not 0"),
        (None, {**GIVEN, "maxRecordsPerPartition": "many"}, "is a whole number, not 'many'"),
        (None, {**GIVEN, "maxTriggerDelay": "soon"}, "Option 'maxTriggerDelay' is a time such as"),
        (None, {**GIVEN, "failOnDataLoss": "yes"}, "Option 'failOnDataLoss' is true or false, not 'yes'"),
        (None, {**GIVEN, "columns": "value,valu"}, "There is no column 'valu'"),
        (None, {**GIVEN, "startingOffsets": "newest"}, "Option 'startingOffsets' is earliest, latest, or JSON"),
        (None, {**GIVEN, "startingOffsets": '{"t": {"0": "x"}}'}, "Option 'startingOffsets' is JSON such as"),
        (None, {**GIVEN, "startingOffsets": '{"t": {"0": -3}}'}, "has no offset for t-0"),
        (None, {**GIVEN, "startingTimestamp": "noon"}, "Option 'startingTimestamp' is a whole number"),
        (None, {**GIVEN, "minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"}, "is higher than"),
        (None, {**GIVEN, "commitOffsetsToGroup": " "}, "'commitOffsetsToGroup' is the name"),
        (False, {**GIVEN, "startingOffsets": "latest"}, "A batch cannot start at latest"),
        (False, {**GIVEN, "startingOffsets": '{"t": {"0": -1}}'}, "A batch cannot start at latest"),
        (False, {**GIVEN, "endingOffsets": "earliest"}, "A batch cannot end at earliest"),
        (False, {**GIVEN, "endingOffsets": '{"t": {"0": -2}}'}, "A batch cannot end at earliest"),
        (
            False,
            {**GIVEN, "startingOffsets": '{"t": {"0": 5}}', "endingOffsets": '{"t": {"1": 5}}'},
            "are not of the same partitions: t-0, t-1",
        ),
        (
            False,
            {**GIVEN, "startingOffsets": '{"t": {"0": 5}}', "endingOffsets": '{"t": {"0": 4}}'},
            "The starting offset of t-0 is after its ending offset: 5 > 4",
        ),
        (
            False,
            {**GIVEN, "startingOffsetsByTimestamp": '{"t": {"0": 5}}', "endingOffsetsByTimestamp": '{"t": {"0": 4}}'},
            "The starting time of t-0 is after its ending time",
        ),
        (True, {**GIVEN, "endingOffsets": "latest"}, "Option 'endingOffsets' is for batches"),
        (True, {**GIVEN, "endingOffsetsByTimestamp": '{"t": {"0": 5}}'}, "is for batches"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(is_stream: bool | None, given: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidConfigError) as raised:
        parse_source_options(given, is_stream=is_stream)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)

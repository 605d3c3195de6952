"""What is wrong with a sink's options or schema is said in one sentence, before anything runs. Pure."""

import pytest
from pyspark.sql.types import StructType

from ottla.common.errors import InvalidConfigError
from ottla.spark.sink.client_properties import admin_properties, consumer_properties, state_producer_properties
from ottla.spark.sink.sink_options import STATE_TOPIC, parse_sink_options
from ottla.spark.sink.sink_schema import SinkColumns, check_schema

SERVERS = {"kafka.bootstrap.servers": "somewhere:9092"}
EXACTLY_ONCE = {**SERVERS, "exactlyOnce": "true"}


def schema(ddl: str) -> StructType:
    """Spark's own parser of DDL is in the JVM; this is enough of it."""
    from pyspark.sql import types

    kinds = {
        "string": types.StringType(),
        "binary": types.BinaryType(),
        "int": types.IntegerType(),
        "long": types.LongType(),
        "timestamp": types.TimestampType(),
        "headers": types.ArrayType(types.StructType().add("key", types.StringType()).add("value", types.BinaryType())),
        "map": types.MapType(types.StringType(), types.BinaryType()),
    }
    fields = (field.split() for field in ddl.split(",") if field.strip())
    return StructType([types.StructField(name, kinds[kind]) for name, kind in fields])


def check(ddl: str, topic: str | None = None, *, keeps_timestamps: bool = False) -> SinkColumns:
    return check_schema(schema(ddl), topic, keeps_timestamps=keeps_timestamps)


def test_columns_of_a_record_are_taken_and_others_left() -> None:
    found = check(
        "offset long, value string, key binary, headers headers, partition int, topic string, timestamp string"
    )
    assert found == SinkColumns(("value", "key", "headers", "partition"), None)


def test_the_option_goes_before_the_column() -> None:
    assert check("value binary, topic long", "orders") == SinkColumns(("value",), "orders")


def test_timestamps_are_kept_if_that_is_asked_for() -> None:
    assert check("value binary, timestamp timestamp", "t", keeps_timestamps=True).record_columns == (
        "value",
        "timestamp",
    )


@pytest.mark.parametrize(
    ("ddl", "sentence"),
    [
        ("key string", "The sink needs a column 'value', and the query has only key"),
        ("", "The sink needs a column 'value', and the query has no columns"),
        ("value string", "needs option 'topic', or a column 'topic'"),
        ("value int, topic string", "Column 'value' is of type int, and must be string or binary"),
        ("value string, key long, topic string", "Column 'key' is of type bigint, and must be string or binary"),
        ("value string, topic binary", "Column 'topic' is of type binary, and must be string"),
        ("value string, topic string, partition long", "Column 'partition' is of type bigint, and must be int"),
        (
            "value string, topic string, headers map",
            "Column 'headers' is of type map<string,binary>, and must be array",
        ),
    ],
)
def test_a_schema_that_does_not_fit(ddl: str, sentence: str) -> None:
    with pytest.raises(InvalidConfigError) as raised:
        check(ddl)
    assert sentence in str(raised.value)


def test_a_timestamp_that_is_asked_for_must_be_there_and_be_one() -> None:
    with pytest.raises(InvalidConfigError, match="needs a column 'timestamp', and the query has none"):
        check("value string", "t", keeps_timestamps=True)
    with pytest.raises(InvalidConfigError, match="Column 'timestamp' is of type string, and must be timestamp"):
        check("value string, timestamp string", "t", keeps_timestamps=True)


def test_properties_go_to_the_producer_in_any_case() -> None:
    found = parse_sink_options({"Kafka.Bootstrap.Servers": "a:1", "KAFKA.linger.ms": "7", "Topic": "t"})
    assert found.producer == {
        "bootstrap.servers": "a:1",
        "linger.ms": "7",
        "send.buffer.bytes": "-1",
        "buffer.memory": "16777216",
    }
    assert (found.topic, found.exactly_once, found.sink_id) == ("t", False, "")
    large = parse_sink_options({"kafka.bootstrap.servers": "a:1", "kafka.max.request.size": "20000000", "topic": "t"})
    assert "buffer.memory" not in large.producer  # a record may take all of it


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "Option 'kafka.bootstrap.servers' must be given"),
        ({**SERVERS, "topic": " "}, "Option 'topic' is empty"),
        ({**SERVERS, "topics": "t"}, "There is no option 'topics'; is 'topic' meant?"),
        ({**SERVERS, "exactlyOnce": "yes"}, "Option 'exactlyOnce' is true or false, not 'yes'"),
        ({**SERVERS, "kafka.key.serializer": "x"}, "Option 'kafka.key.serializer' cannot be set: keys are written as"),
        ({**SERVERS, "kafka.lingerms": "1"}, "linger.ms"),
        ({**SERVERS, "kafka.linger.ms": "soon"}, "linger.ms"),
        ({**SERVERS, "kafka.transactional.id": "x"}, "Option 'kafka.transactional.id' is for exactlyOnce=true"),
        (EXACTLY_ONCE, "needs option 'checkpointLocation' or 'kafka.transactional.id'"),
        ({**EXACTLY_ONCE, "kafka.acks": "1"}, "Option 'kafka.acks' cannot be set: exactly once needs all"),
        ({**EXACTLY_ONCE, "kafka.enable.idempotence": "false"}, "exactly once needs it to be true"),
    ],
)
def test_options_that_cannot_work(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidConfigError) as raised:
        parse_sink_options(options)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_sink_has_a_name() -> None:
    given = parse_sink_options({**EXACTLY_ONCE, "kafka.transactional.id": "shop"})
    assert (given.sink_id, given.state_topic) == ("shop", STATE_TOPIC)
    assert "transactional.id" not in given.producer
    one, same, other = (
        parse_sink_options({**EXACTLY_ONCE, "checkpointLocation": place}).sink_id for place in ("/a", "/a", "/b")
    )
    assert one == same != other
    for spelling in ("file:/a", "file:///a", "/a/"):
        assert parse_sink_options({**EXACTLY_ONCE, "checkpointLocation": spelling}).sink_id == one
    assert parse_sink_options({**EXACTLY_ONCE, "checkpointLocation": "hdfs://h/a"}).sink_id != one
    assert parse_sink_options(EXACTLY_ONCE, write_id="w").sink_id == "ottla-spark-w"
    assert parse_sink_options({**EXACTLY_ONCE, "stateTopic": "s"}, write_id="w").state_topic == "s"


def test_defaults_of_exactly_once_give_way() -> None:
    found = parse_sink_options({**EXACTLY_ONCE, "kafka.transaction.timeout.ms": "60000"}, write_id="w").producer
    assert found["transaction.timeout.ms"] == "60000"
    assert found["max.in.flight.requests.per.connection"] == "1"


def test_other_clients_get_what_they_know_of_the_properties() -> None:
    given = {"bootstrap.servers": "a:1", "client.id": "me", "linger.ms": "5", "security.protocol": "SSL"}
    common = {"bootstrap.servers": "a:1", "security.protocol": "SSL"}
    assert admin_properties(given) == consumer_properties(given) == common
    assert state_producer_properties(given)["linger.ms"] == "0"

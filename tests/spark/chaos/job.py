"""The job under chaos: numbers the records of each key in their order, by state that Spark keeps, and writes them.

Each record of the input becomes ``key:number``, and the numbers of a key are 1, 2, 3 … whatever the batches are: so a
record that is processed twice or never, and state that is lost or counted twice, all show in the output.
"""

import argparse
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NUMBERED = "key string, value string"


def number_rows(key: tuple[str], frames: "Iterable[Any]", state: Any) -> "Iterator[Any]":
    """The rows of a key in a batch, each with its number."""
    import pandas as pd

    last = state.get[0] if state.exists else 0
    count = sum(len(frame) for frame in frames)
    state.update((last + count,))
    values = [f"{key[0]}:{number}" for number in range(last + 1, last + count + 1)]
    yield pd.DataFrame({"key": [key[0]] * count, "value": values})


def numbered(spark: "SparkSession", arguments: argparse.Namespace) -> "DataFrame":
    """The stream."""
    from pyspark.sql.streaming.state import GroupStateTimeout

    source = (
        spark.readStream.format("ottla")
        .option("kafka.bootstrap.servers", arguments.bootstrap)
        .option("subscribe", arguments.input)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", arguments.rows_a_batch)
        .load()
    )
    return (
        source.selectExpr("cast(value as string) as key")
        .groupBy("key")
        .applyInPandasWithState(number_rows, NUMBERED, "n long", "append", GroupStateTimeout.NoTimeout)
    )


def run(arguments: argparse.Namespace) -> None:
    """Run the stream until something ends it."""
    spark = _session(arguments)
    stream = numbered(spark, arguments).writeStream.outputMode("append")
    stream = stream.option("checkpointLocation", arguments.checkpoint)
    if arguments.sink == "delta":
        query = stream.format("delta").start(arguments.output)
    else:
        query = (
            stream.format("ottla")
            .option("kafka.bootstrap.servers", arguments.bootstrap)
            .option("topic", arguments.output)
            .option("exactlyOnce", str(arguments.exactly_once).lower())
            .start()
        )
    print("running", flush=True)
    query.awaitTermination()


def dump(arguments: argparse.Namespace) -> None:
    """Print what a Delta table holds."""
    spark = _session(arguments)
    rows = spark.read.format("delta").load(arguments.output).select("value").collect()
    print("\n".join(row.value for row in rows))


def _session(arguments: argparse.Namespace) -> "SparkSession":
    from ottla.spark.data_source import OttlaDataSource
    from ottla.spark.session import spark_session

    spark = spark_session(
        "chaos",
        master=arguments.master,
        conf={
            "spark.driver.memory": "1g",
            "spark.executor.memory": "600m",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.python.worker.reuse": "true",
            "spark.sql.streaming.metricsEnabled": "false",
        },
        packages=["delta"] if arguments.sink == "delta" else [],
    )
    spark.dataSource.register(OttlaDataSource)
    return spark


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("run", "dump"))
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--sink", choices=("ottla", "delta"), required=True)
    parser.add_argument("--at-least-once", dest="exactly_once", action="store_false")
    parser.add_argument("--rows-a-batch", default="130")
    parser.add_argument("--master", default="local[2,4]")
    arguments = parser.parse_args()
    {"run": run, "dump": dump}[arguments.what](arguments)


if __name__ == "__main__":
    main()

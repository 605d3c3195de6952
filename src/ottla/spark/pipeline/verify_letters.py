"""A side of a comparison in two parts: the table, and the records of its topic that are among the dead letters."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ottla.spark.pipeline.topic_reading import LETTER_HEADERS
from ottla.spark.pipeline.verify_sides import ComparedSide, TopicSide

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Document = dict[str, Any]
_PREFIX: Final = "ottla."


@dataclass(frozen=True, slots=True)
class LettersSide:
    """Those dead letters of a topic that come from ``source``, as the records that they were."""

    letters: TopicSide
    source: str

    @property
    def what(self) -> str:
        """What it is called."""
        return f"dead letters {self.letters.topic}"

    @property
    def parts(self) -> tuple[str, ...]:
        """All that records have."""
        return self.letters.parts

    def identity(self) -> Document:
        """The topic of the letters, and the one that they come from."""
        return {**self.letters.identity(), "source": self.source}

    def plan(self, spark: "SparkSession") -> Document:
        """The letters that are there now."""
        return self.letters.plan(spark)

    def units(self, spark: "SparkSession", plan: Document) -> "list[tuple[int | None, Callable[[], DataFrame]]]":
        """One for each slice of the letters."""
        return [(count, lambda read=read: self._were(read())) for count, read in self.letters.units(spark, plan)]  # type: ignore[misc]

    def whole(self, spark: "SparkSession", plan: Document) -> "DataFrame":
        """All of them."""
        return self._were(self.letters.whole(spark, plan))

    def _were(self, letters: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as f

        ours = {name: _header(name) for name in LETTER_HEADERS}
        place = f.concat(f.lit("dead letter of partition "), ours["partition"], f.lit(" offset "), ours["offset"])
        others = f.filter("headers", lambda header: ~header["key"].startswith(_PREFIX))
        return letters.where(ours["topic"] == self.source).select(
            "key",
            "value",
            others.alias("headers"),
            ours["partition"].cast("int").alias("partition"),
            ours["timestamp"].cast("timestamp").alias("timestamp"),
            place.alias("place"),
        )


@dataclass(frozen=True, slots=True)
class TogetherSide:
    """Two sides as one: what both of them hold."""

    first: ComparedSide
    second: ComparedSide

    @property
    def what(self) -> str:
        """What they are called."""
        return f"{self.first.what} and {self.second.what}"

    @property
    def parts(self) -> tuple[str, ...]:
        """What both give."""
        return tuple(part for part in self.first.parts if part in self.second.parts)

    def identity(self) -> Document:
        """Both."""
        return {"first": self.first.identity(), "second": self.second.identity()}

    def plan(self, spark: "SparkSession") -> Document:
        """What they hold now."""
        return {"first": self.first.plan(spark), "second": self.second.plan(spark)}

    def units(self, spark: "SparkSession", plan: Document) -> "list[tuple[int | None, Callable[[], DataFrame]]]":
        """Those of the one, then those of the other."""
        return [*self.first.units(spark, plan["first"]), *self.second.units(spark, plan["second"])]

    def whole(self, spark: "SparkSession", plan: Document) -> "DataFrame":
        """All of both."""
        first = self._frame(self.first.whole(spark, plan["first"]))
        return first.unionByName(self._frame(self.second.whole(spark, plan["second"])))

    def _frame(self, frame: "DataFrame") -> "DataFrame":
        """The parts that both give; keys and values, which a table may have as text, as bytes."""
        from pyspark.sql import functions as f

        def column(part: str) -> "Column":
            return f.col(part).cast("binary").alias(part) if part in ("key", "value") else f.col(part)

        return frame.select(*(column(part) for part in self.parts), "place")


def with_letters(table: ComparedSide, topic: TopicSide, dead_letters: str) -> TogetherSide:
    """The table, and those of the dead letters that come from the topic."""
    letters = replace(topic, topic=dead_letters, json_schema=None, rescue=None)
    return TogetherSide(table, LettersSide(letters, topic.topic))


def _header(name: str) -> "Column":
    """The text of the last header that says so: a record that was a letter before has one of then, too."""
    from pyspark.sql import functions as f

    found = f.filter("headers", lambda header: header["key"] == f"{_PREFIX}{name}")
    return f.try_element_at(found, f.lit(-1))["value"].cast("string")

"""Which partitions a query reads: the options ``subscribe``, ``subscribePattern`` and ``assign``. Pure."""

import re
from dataclasses import dataclass
from typing import Final

from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.errors import error_for
from ottla.common.error_code import ErrorCode
from ottla.common.errors import InvalidConfigError
from ottla.common.topic_partition import TopicPartition
from ottla.spark.options import Options
from ottla.spark.source.offset_json import parse_partitions

STRATEGIES: Final = ("subscribe", "subscribePattern", "assign")


@dataclass(frozen=True, slots=True)
class TopicSelection:
    """One of three is given: names of topics, a pattern that is searched in their names, or partitions."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: frozenset[TopicPartition] = frozenset()

    @property
    def names(self) -> tuple[str, ...] | None:
        """The topics to ask the cluster about; None for all of them."""
        if self.pattern is not None:
            return None
        return self.topics or tuple(sorted({partition.topic for partition in self.partitions}))

    def choose(self, image: ClusterMetadata) -> set[TopicPartition]:
        """The partitions in an image of the cluster that are selected; a pattern selects no internal topics."""
        topics = [topic for topic in image.topics.values() if self._has(topic.name, is_internal=topic.is_internal)]
        found = {TopicPartition(topic.name, index) for topic in topics for index in topic.partitions}
        return found & self.partitions if self.partitions else found

    def unusable(self, image: ClusterMetadata) -> dict[str, int]:
        """Topics that are asked for by name and in error, or not there at all, with the error's code."""
        codes: dict[str, int] = {}
        for name in self.names or ():
            topic = image.topics.get(name)
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic.error_code
            if code != ErrorCode.NONE:
                codes[name] = code
        return codes

    def missing_partitions(self, image: ClusterMetadata) -> set[TopicPartition]:
        """Partitions that are asked for by number and that their topics do not have."""
        return {each for each in self.partitions if image.partition(*each) is None}

    def __str__(self) -> str:
        if self.pattern is not None:
            return f"topics that match {self.pattern!r}"
        return ", ".join(self.topics) or ", ".join(f"{topic}-{index}" for topic, index in sorted(self.partitions))

    def _has(self, name: str, *, is_internal: bool) -> bool:
        if self.pattern is not None:
            return not is_internal and re.search(self.pattern, name) is not None
        return True  # only these were asked for


def parse_selection(options: Options) -> TopicSelection:
    """What the query says; InvalidConfigError unless it says it in one way."""
    given = [name for name in STRATEGIES if name in options]
    if len(given) != 1:
        said = f"{' and '.join(given)} are given" if given else "none is"
        raise InvalidConfigError(f"One of the options {', '.join(STRATEGIES)} says what to read, and {said}")
    (strategy,) = given
    value = options.text(strategy) or ""
    if strategy == "assign":
        return TopicSelection(partitions=parse_partitions(strategy, value))
    if strategy == "subscribe":
        topics = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
        if not topics:
            raise InvalidConfigError("Option 'subscribe' names no topic")
        return TopicSelection(topics=topics)
    if not value:
        raise InvalidConfigError("Option 'subscribePattern' is empty")
    try:
        re.compile(value)
    except re.error as error:
        raise InvalidConfigError(f"Option 'subscribePattern' is no regular expression: {error}") from None
    return TopicSelection(pattern=value)


def why_unusable(name: str, code: int) -> str:
    """Why a topic cannot be read, for people."""
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return f"Topic {name} does not exist"
    return f"Topic {name} cannot be read: {error_for(code)}"

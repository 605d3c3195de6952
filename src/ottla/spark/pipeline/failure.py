"""What ends a pipeline, in one sentence: all that Spark raises becomes a PipelineFailedError here."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ottla.common.errors import KafkaError
from ottla.spark.failures import sentence_of

_JVM_GONE: Final = "Spark's JVM has ended; was it killed, or did it run out of memory?"
_DATA_LOSS: Final = re.compile(r"\bDataLossError: ")
_NOT_THERE: Final = re.compile(r"\bUnknownTopicOrPartitionError: ")
_OPTION_ADVICE: Final = re.compile(r"\s*[(;][^(;]*failOnDataLoss.*$")
"""What the source advises those who write its options themselves."""
_ADVICE: Final = "--skip-lost goes on with what is there"


class PipelineFailedError(KafkaError):
    """A query of the job failed, or Spark did; the message says which and why."""


def spark_errors() -> tuple[type[Exception], ...]:
    """What calls of Spark raise: its own errors, Java's, and those of the connection to a JVM that is gone."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError, ConnectionError


def failure_sentence(error: BaseException) -> str:
    """What to tell of one of ``spark_errors``, or of any other error; if records are gone, with a command's advice."""
    from py4j.protocol import Py4JError, Py4JJavaError

    if isinstance(error, Py4JError | ConnectionError) and not isinstance(error, Py4JJavaError):
        return _JVM_GONE
    sentence = sentence_of(error)
    return f"{_OPTION_ADVICE.sub('', sentence)}; {_ADVICE}" if _DATA_LOSS.search(str(error)) else sentence


def is_gone(error: BaseException) -> bool:
    """Whether records, or the partitions that had them, were to be read and are not there any more."""
    text = str(error)
    return bool(_DATA_LOSS.search(text) or _NOT_THERE.search(text))


@contextmanager
def failing_as(what: str) -> Iterator[None]:
    """What Spark raises within is a PipelineFailedError: ``what``, and the sentence."""
    try:
        yield
    except spark_errors() as error:
        raise PipelineFailedError(f"{what}: {failure_sentence(error)}") from error

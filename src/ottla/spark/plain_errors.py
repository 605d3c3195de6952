"""Expected errors without the way they took: Spark shows a whole traceback before the one line that matters."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ottla.common.errors import KafkaError

P = ParamSpec("P")
R = TypeVar("R")


def plainly(method: Callable[P, R]) -> Callable[P, R]:
    """For methods that Spark calls: a KafkaError leaves them with its sentence, and nothing of where it came from."""

    @wraps(method)
    def call(*args: P.args, **keywords: P.kwargs) -> R:
        try:
            return method(*args, **keywords)
        except KafkaError as error:
            plain = error
        raise plain.with_traceback(None) from None

    return call

"""Completions made of others: an answer that is worked on, an error that becomes an answer, many answers in one."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from ottla.common.errors import KafkaError
from ottla.runtime.completion import Completion

T = TypeVar("T")
U = TypeVar("U")


def then(completion: Completion[T], work: Callable[[T], U]) -> Completion[U]:
    """What ``work`` makes of the answer; an error stays one."""
    following: Completion[U] = Completion()

    def follow(done: Completion[T]) -> None:
        if done.error is None:
            following.complete(work(done.result()))
        else:
            following.fail(done.error)

    completion.add_done_callback(follow)
    return following


def recover(completion: Completion[T], answer: Callable[[KafkaError], T]) -> Completion[T]:
    """The answer, or what ``answer`` makes of the error; it may raise one."""
    if completion.is_done and completion.error is None:
        return completion
    recovered: Completion[T] = Completion()

    def follow(done: Completion[T]) -> None:
        try:
            response = done.result() if done.error is None else answer(done.error)
        except KafkaError as error:
            recovered.fail(error)
        else:
            recovered.complete(response)

    completion.add_done_callback(follow)
    return recovered


def gather(completions: Sequence[Completion[T]]) -> Completion[list[T]]:
    """All answers, in the order of ``completions``; the first error among them once all are done."""
    gathered: Completion[list[T]] = Completion()
    left = len(completions)

    def follow(_done: Completion[T]) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            finish()

    def finish() -> None:
        error = next((completion.error for completion in completions if completion.error is not None), None)
        if error is None:
            gathered.complete([completion.result() for completion in completions])
        else:
            gathered.fail(error)

    if not completions:
        finish()
    for completion in completions:
        completion.add_done_callback(follow)
    return gathered

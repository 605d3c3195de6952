"""A transactional producer as the coordinator sees it: it asks one thing at a time, and again if need be."""

from dataclasses import dataclass, field
from typing import Any, Final

from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.runtime.completion import Completion
from ottla.transaction.metadata import ProducerIdAndEpoch
from tests.transaction.transaction_world import TransactionWorld

RETRIABLE: Final = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    }
)


@dataclass(frozen=True, slots=True)
class Request:
    """What a producer asks for."""

    kind: str
    """``init``, ``bump`` (an init that says who it was), ``add`` or ``end``."""
    partition: TopicPartition | None = None
    committed: bool = False


@dataclass(slots=True, eq=False)
class Client:
    """One producer; several may have the same transactional id, of which all but one are zombies."""

    world: TransactionWorld
    transactional_id: str
    is_v2: bool
    identity: ProducerIdAndEpoch | None = None
    in_flight: Request | None = None
    completion: Completion[Any] | None = None
    retry: Request | None = None
    """What it did not get an answer to, or is to try again: nothing else comes before that."""
    acked: set[TopicPartition] = field(default_factory=set)
    tried: set[TopicPartition] = field(default_factory=set)
    may_be_shut_out: bool = False
    """Whether something has happened since it last asked to initialize that may have fenced it."""

    @property
    def is_legal(self) -> dict[str, bool]:
        """What a correct client may ask for now, by kind."""
        begun, known = bool(self.acked), self.identity is not None
        return {
            "init": True,
            "bump": known and not self.tried,
            "add": known,
            "commit": known and begun and self.acked == self.tried,
            "abort": known and ((begun and self.acked == self.tried) or self.is_v2),
        }

    def ask(self, request: Request) -> Completion[Any]:
        """Send a request."""
        assert self.in_flight is None
        self.in_flight, self.retry = request, None
        world, name = self.world, self.transactional_id
        if request.kind == "init":
            self.completion = world.init(transactional_id=name)
            return self.completion
        assert self.identity is not None
        if request.kind == "bump":
            self.completion = world.init(self.identity, transactional_id=name)
        elif request.kind == "add":
            assert request.partition is not None
            self.tried.add(request.partition)
            version = 2 if self.is_v2 else 0
            self.completion = world.add(self.identity, request.partition, version=version, transactional_id=name)
        else:
            api_version = 5 if self.is_v2 else 4
            self.completion = world.end(
                self.identity, committed=request.committed, api_version=api_version, transactional_id=name
            )
        return self.completion

    def lose(self) -> None:
        """Give up waiting: nobody will tell what became of it."""
        self.retry, self.in_flight, self.completion = self.in_flight, None, None

    def take_answer(self) -> tuple[Request, ErrorCode]:
        """Take the answer in, as a correct client does."""
        request, completion = self.in_flight, self.completion
        assert request is not None
        assert completion is not None
        self.in_flight = self.completion = None
        if request.kind == "add":
            code = ErrorCode.NONE if completion.error is None else ErrorCode(completion.error.code)
        else:
            code = ErrorCode(completion.result().error_code)
        if code in RETRIABLE:
            self.retry = request
        elif code is ErrorCode.NONE:
            self._succeeded(request, completion)
        return request, code

    def _succeeded(self, request: Request, completion: Completion[Any]) -> None:
        if request.kind == "add":
            assert request.partition is not None
            self.acked.add(request.partition)
            return
        self.acked, self.tried = set(), set()
        if request.kind != "end" or self.is_v2:
            response = completion.result()
            self.identity = ProducerIdAndEpoch(response.producer_id, response.producer_epoch)

"""A consume-transform-produce loop of confluent-kafka, in a process that is made to be killed.

It consumes as a member of a group and writes each record, with the number of its attempt behind the value, to the same
partition of the output, in transactions that commit the group's offsets, too; some it aborts. After each it tells in a
line of JSON how many records it has brought through, as Apache's TransactionalMessageCopier does.
"""

import argparse
import faulthandler
import json
import os
import sys
import time
from collections.abc import Callable
from random import Random
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

BOUND_S = 60
"""Longer than a broker is away."""
CALL_S = 5
HUNG_S = 30
"""Now and then send_offsets_to_transaction does not return after a restart of any broker (librdkafka's issue 5456)."""
_SOON_S = 0.05
_ABORTED_SHARE = 0.2


class MustAbortError(Exception):
    """The transaction cannot be committed; what it contains has to be tried again."""


class ConsumerFailedError(Exception):
    """The consumer says so. Where it could not ask for committed offsets, say, it never will; another one may."""


class CopyLoop:
    """One consumer and one producer."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._rng = Random(options.seed)
        self._pending: list[Message] = []
        """Read, and not yet copied by a transaction that was committed."""
        self._attempts = 0
        self._copied = 0
        common = {
            "bootstrap.servers": options.bootstrap,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
            # Else it forgets the only broker while that is away, and waits for answers of the one it has forgotten.
            "metadata.recovery.strategy": "none",
            "log_level": 3,
        }
        self._producer = Producer(
            common
            | {
                "transactional.id": options.transactional_id,
                "transaction.timeout.ms": 2 * BOUND_S * 1000,
                "linger.ms": 1,
                "batch.num.messages": 5,  # several batches a transaction, and several in flight
                "retry.backoff.ms": 20,
            }
        )
        membership: dict[str, Any] = {"group.protocol": options.protocol}
        if options.protocol == "classic":
            membership |= {"session.timeout.ms": 2000, "heartbeat.interval.ms": 200}
        self._consumer = Consumer(
            common
            | membership
            | {
                "group.id": options.group,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 50,
                "topic.metadata.refresh.interval.ms": 1000,
            }
        )

    def run(self) -> None:
        """Copy until the process ends."""
        _retried(lambda: self._producer.init_transactions(CALL_S))
        self._tell()
        self._consumer.subscribe([self._options.input], on_revoke=self._on_revoked, on_lost=self._on_revoked)
        while True:
            self._take()
            if self._pending:
                try:
                    self._copy(self._pending)
                    self._pending = []
                except MustAbortError:
                    _retried(lambda: self._producer.abort_transaction(CALL_S))
                self._tell()

    def _take(self) -> None:
        """Wait for records; a rebalance meanwhile takes away those that are another's now."""
        wanted = self._rng.randint(1, 40)
        while True:
            _watch_out()
            message = self._consumer.poll(0.0 if self._pending else 0.1)
            if message is None:
                return
            error = message.error()
            if error is not None:
                raise ConsumerFailedError(str(error))
            self._pending.append(message)
            if len(self._pending) >= wanted:
                return

    def _copy(self, messages: list[Message]) -> None:
        self._attempts += 1
        attempt = f" {os.getpid()}-{self._attempts}".encode()
        positions: dict[int, int] = {}
        producer, consumer = self._producer, self._consumer
        producer.begin_transaction()
        for message in messages:
            value, partition, offset = message.value(), message.partition(), message.offset()
            assert value is not None
            assert partition is not None
            assert offset is not None
            producer.produce(self._options.output, value + attempt, partition=partition)
            positions[partition] = offset + 1
        offsets = [TopicPartition(self._options.input, partition, offset) for partition, offset in positions.items()]
        _retried(lambda: producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), CALL_S))
        if self._rng.random() < _ABORTED_SHARE:
            producer.flush(CALL_S)  # what is not sent yet would never be
            raise MustAbortError
        _retried(lambda: producer.commit_transaction(CALL_S))
        self._copied += len(messages)

    def _on_revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        """Forget what was not copied of these: who gets them begins with what is committed."""
        revoked = {partition.partition for partition in partitions}
        self._pending = [message for message in self._pending if message.partition() not in revoked]

    def _tell(self) -> None:
        print(json.dumps({"totalProcessed": self._copied}), flush=True)


def _watch_out() -> None:
    """End the process, saying where, if this is not called again in time: some calls of librdkafka never return."""
    faulthandler.dump_traceback_later(HUNG_S, exit=True)


def _retried(call: Callable[[], Any]) -> Any:
    """Call until it does not fail; raises what cannot be tried again."""
    deadline = time.monotonic() + BOUND_S
    while True:
        _watch_out()
        try:
            return call()
        except KafkaException as failure:
            error = failure.args[0]
            if error.txn_requires_abort():
                raise MustAbortError from failure
            if error.fatal() or time.monotonic() > deadline or not error.retriable():
                raise
            print(f"{time.time():.3f} again after {error}", file=sys.stderr, flush=True)
            time.sleep(_SOON_S)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("bootstrap", "transactional-id", "group", "protocol", "input", "output"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--seed", type=int, required=True)
    CopyLoop(parser.parse_args()).run()


if __name__ == "__main__":
    main()

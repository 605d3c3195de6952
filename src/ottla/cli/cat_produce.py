"""``ottla cat -P``: send what standard input, or files, hold."""

import argparse
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ottla.cli.cat_format import unescape
from ottla.cli.errors import UsageError
from ottla.common.error_words import in_words

if TYPE_CHECKING:
    from ottla.clients import Delivery, Producer


async def produce(settings: dict[str, str], options: argparse.Namespace) -> int:
    """Send the messages between delimiters, or whole files; the exit code is 1 if one was not delivered."""
    from ottla.cli.progress import counting
    from ottla.clients import Producer

    if options.topic is None:
        raise UsageError("-t topic missing")
    if options.codec is not None:
        settings["compression.type"] = options.codec
    settings.setdefault("linger.ms", "5")
    key_delimiter = None if options.key_delimiter is None else unescape(options.key_delimiter)
    fixed_key = None if options.key is None else options.key.encode()
    headers = [(name, value.encode()) for name, _, value in (each.partition("=") for each in options.header or ())]
    failures = _Failures()
    left = options.count if options.count is not None else -1
    async with Producer(settings) as producer, _transaction(producer, settings, failures):
        if options.partition is not None:
            from ottla.cli.cat_consume import require_partition

            numbers = [each.partition for each in await producer.partitions_for(options.topic)]
            require_partition(options.topic, options.partition, numbers)
        with counting("sent", wanted=_reads_elsewhere(options)) as sent:
            async for message in _messages(options):
                if left == 0:
                    break
                left -= 1
                key, value = fixed_key, message
                if key_delimiter is not None and key_delimiter in message:
                    key, _, value = message.partition(key_delimiter)
                if options.null:
                    key, value = key or None, value or None  # type: ignore[assignment]
                delivery = await producer.send(
                    options.topic, value, key=key, headers=headers or None, partition=options.partition
                )
                delivery.add_done_callback(failures.add)
                if options.tee:
                    sys.stdout.buffer.write(message + unescape(options.delimiter))
                sent.advance()
    sys.stdout.flush()
    return 1 if failures.count else 0


def _reads_elsewhere(options: argparse.Namespace) -> bool:
    """Whether the messages are not to be seen on the terminal."""
    from os import isatty

    return not options.quiet and (bool(options.files) or not isatty(0)) and not (options.tee and sys.stdout.isatty())


@asynccontextmanager
async def _transaction(producer: "Producer", settings: Mapping[str, str], failures: "_Failures") -> AsyncIterator[None]:
    """One transaction around all messages, if there is a transactional id; aborted if one was not delivered."""
    if "transactional.id" not in settings:
        yield
        return
    await producer.init_transactions()
    producer.begin_transaction()
    try:
        yield
        await producer.flush()
    except BaseException:
        await producer.abort_transaction()
        raise
    if failures.count:
        await producer.abort_transaction()
    else:
        await producer.commit_transaction()


async def _messages(options: argparse.Namespace) -> AsyncIterator[bytes]:
    """Each file is one message, unless -l says that it is to be split as standard input is."""
    from ottla.cli.input_chunks import delimited, input_chunks

    delimiter = unescape(options.delimiter)
    if options.files and not options.lines:
        for name in options.files:
            with open(name, "rb") as stream:
                yield stream.read()
        return
    if options.files:
        for name in options.files:
            with open(name, "rb") as stream:
                async for messages in delimited(input_chunks(stream.fileno()), delimiter):
                    for message in messages:
                        yield message
        return
    async for messages in delimited(input_chunks(), delimiter):
        for message in messages:
            if message or options.null:  # kcat leaves empty lines out
                yield message


class _Failures:
    """Tells of what was not delivered."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, delivery: "Delivery") -> None:
        """The outcome of a message is known."""
        error = delivery.exception()
        if error is not None:
            self.count += 1
            sys.stderr.write(f"% Delivery failed for message: {in_words(error)}\n")

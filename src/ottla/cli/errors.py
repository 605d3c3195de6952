"""How commands fail: one line on standard error that says what to do, and the exit code of Apache's tool of that name.

Exit codes: 0 it worked, 1 it failed or the line cannot be understood (as with Apache's tools), 2 there is no such
command, 130 somebody pressed Ctrl-C.
"""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from ottla.common.error_words import in_words

INTERRUPTED: Final = 130
_STREAMS: Final = 3

HINTS: Final[Mapping[str, str]] = {
    "AuthenticationError": "check security.protocol, sasl.* and ssl.* in the file of --command-config",
    "BrokerNotAvailableError": "`ottla cluster list-endpoints` shows which there are",
    "ClusterAuthorizationError": "ask for the operation on the cluster to be allowed to you",
    "GroupAuthorizationError": "ask for the operation on the group to be allowed to you",
    "GroupIdNotFoundError": "`ottla groups --list` shows which there are",
    "GroupNotEmptyError": "stop its members first; `ottla consumer-groups --describe --members` shows them",
    "InvalidReplicationFactorError": "there must be as many brokers; `ottla cluster list-endpoints` shows them",
    "InvalidTopicError": "a name has at most 249 letters, digits, dots, underscores and hyphens, and differs from "
    "others in more than dots and underscores",
    "KafkaTimeoutError": "is the server running, and is its address right? `ottla doctor` finds out",
    "TransactionalIdNotFoundError": "`ottla transactions list` shows which there are",
    "NetworkError": "is the server running, and is its address right? `ottla doctor` finds out",
    "TopicAuthorizationError": "ask for the operation on the topic to be allowed to you",
    "TopicExistsError": "choose another name, or pass over it with --if-not-exists",
    "UnknownTopicOrPartitionError": "`ottla topics --list` shows which there are",
    "UnsupportedVersionError": "`ottla broker-api-versions` shows what the server understands",
}
"""What to do about an error, by the name of its class or of one that it derives from."""


class CommandError(Exception):
    """A failure to be told in one line; ``hint`` says what to do about it, ``code`` is the exit code."""

    def __init__(self, message: str, *, hint: str = "", code: int = 1) -> None:
        super().__init__(message)
        self.hint = hint
        self.code = code


class UsageError(CommandError):
    """A command line that cannot be understood; the hint names the help."""


def run(name: str, command: Callable[[], int]) -> int:
    """Run a command, tell how it failed, and return its exit code.

    A reader that has seen enough (``| head``) ends the command as if it had worked, as it ends Apache's tools.
    """
    from ottla.common.errors import KafkaError

    try:
        code = command()
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_pipe()
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except CommandError as error:
        hint = error.hint or (f"`ottla {name} --help` tells more" if isinstance(error, UsageError) else "")
        tell(name, str(error), hint)
        return error.code
    except (KafkaError, OSError) as error:
        tell(name, in_words(error), hint_of(error))
        _settle_output()
        return 1
    return code


def tell(name: str, message: str, hint: str = "") -> None:
    """One line on standard error, whatever line breaks the message has."""
    line = " ".join(message.split())
    if hint:
        line = f"{line.rstrip('.;')}; {hint}"
    with suppress(OSError):  # a terminal may be gone, a disk full
        sys.stderr.write(f"ottla {name}: {line}\n")
        sys.stderr.flush()


def hint_of(error: BaseException) -> str:
    """What to do about it, or nothing."""
    return next((HINTS[each.__name__] for each in type(error).__mro__ if each.__name__ in HINTS), "")


def take_closed_streams() -> None:
    """Put nothing where standard input, output or error is closed: no file of ours may come to be there instead."""
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor < _STREAMS:  # the system gives the lowest that is free
        descriptor = os.dup(descriptor)
    os.close(descriptor)
    sys.stdin = sys.stdin or open(0)  # noqa: SIM115 - it is open until the end
    sys.stdout = sys.stdout or open(1, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115


def _settle_output() -> None:
    """Write what can still be written; what cannot, on a full disk, is not tried again at the interpreter's end."""
    try:
        sys.stdout.flush()
    except OSError:
        _leave_pipe()


def _leave_pipe() -> None:
    """Let nothing be written at the interpreter's end to a pipe that nobody reads."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)

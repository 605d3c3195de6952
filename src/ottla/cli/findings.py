"""What a doctor finds: one line each, with what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; ``hint`` says what to do where something is wrong."""

    level: Level
    what: str
    hint: str = ""

    @property
    def line(self) -> str:
        """The finding on one line."""
        text = " ".join(self.what.split())
        return f"{self.level.value:<5} {text}{f'; {self.hint}' if self.hint else ''}"


def ok(what: str) -> Finding:
    """All is well."""
    return Finding(Level.OK, what)


def warn(what: str, hint: str) -> Finding:
    """It works, but."""
    return Finding(Level.WARN, what, hint)


def fail(what: str, hint: str) -> Finding:
    """It does not work."""
    return Finding(Level.FAIL, what, hint)


def has_failed(findings: Iterable[Finding]) -> bool:
    """Whether something does not work."""
    return any(finding.level is Level.FAIL for finding in findings)

"""One sentence out of what Spark says when something fails: the last cause, without traces and codes. Pure."""

import re
from typing import Final

_PYTHON_ERROR: Final = re.compile(r"^(?:[\w]+\.)*([A-Z]\w*(?:Error|Exception|Interrupt)): ?(.*)$", re.MULTILINE)
_SQL_STATE: Final = re.compile(r"\s*SQLSTATE: \w+")
_ERROR_CLASS: Final = re.compile(r"^\s*\[[A-Z][\w.]*\]\s*")
_TERMINATED: Final = re.compile(r"terminated with exception:\s*")
_JAVA_CAUSE: Final = re.compile(r"^Caused by: (?:[\w$]+\.)*([\w$]+): ?(.*)$", re.MULTILINE)
_TRACE: Final = re.compile(
    r"^\s*(?:at [\w.$/<>]+\(|=== Streaming Query ===|== SQL|JVM stacktrace|Driver stacktrace|'|\+-)", re.MULTILINE
)
_QUIET: Final = frozenset({"KafkaError", "PySparkRuntimeError"})
_LENGTH_MAX: Final = 600


def sentence_of(error: BaseException | str) -> str:
    """What to tell of an error that Spark raised: what our own code or the user's said last, else Spark's sentence."""
    text = error if isinstance(error, str) else (str(error) or type(error).__name__)
    told = _of_python(text) or _of_java(text) or _of_spark(text)
    told = " ".join(_SQL_STATE.sub("", told).split()).strip()
    told = told.rstrip(".;")
    return told if len(told) <= _LENGTH_MAX else told[: _LENGTH_MAX - 1] + "…"


def _of_python(text: str) -> str:
    """The last error of a Python traceback; Python's own errors keep their class, which says half of it."""
    found = _PYTHON_ERROR.findall(text) if "Traceback (most recent call last)" in text else []
    if not found:
        return ""
    name, message = found[-1]
    ours = name in _QUIET or "ottla." in text.rsplit(f"{name}: {message}", 1)[0].rsplit("\n", 1)[-1]
    message = _ERROR_CLASS.sub("", message)
    return message if ours and message else f"{name}: {message}".rstrip(": ")


def _of_java(text: str) -> str:
    found = [(name, message) for name, message in _JAVA_CAUSE.findall(text) if message]
    return _ERROR_CLASS.sub("", found[-1][1]) if found else ""


def _of_spark(text: str) -> str:
    text = _TERMINATED.split(text)[-1]
    text = _TRACE.split(text)[0]
    return _ERROR_CLASS.sub("", text.strip()) or text.strip()

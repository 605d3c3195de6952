"""BROKER_LOGGER resources: the levels of Python's loggers under log4j's names for levels.

Levels hold as long as the process: nothing is stored.
"""

import logging

from ottla.common.errors import InvalidConfigError, InvalidRequestError
from ottla.config.config_entry import UNKNOWN_TYPE, ConfigEntry, ConfigSource

logger = logging.getLogger(__name__)

ROOT_LOGGER = "root"
LEVELS = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG // 2,
}


def describe_loggers() -> list[ConfigEntry]:
    """Every logger that is in use with the level in force, its own or that of the next one above."""
    return [
        ConfigEntry(
            name=name,
            value=_level_name(found.getEffectiveLevel()),
            config_source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
            is_sensitive=False,
            read_only=False,
            synonyms=(),
            config_type=UNKNOWN_TYPE,
            documentation=None,
        )
        for name, found in sorted(_loggers().items())
    ]


def check_level(logger_name: str, level: str) -> None:
    """InvalidConfigError unless the logger is in use and the level is one of log4j's."""
    _require_exists(logger_name)
    if level not in LEVELS:
        raise InvalidConfigError(
            f"Cannot set the log level of {logger_name} to {level} as it is not a supported log level. Valid log "
            f"levels are {', '.join(sorted(LEVELS))}"
        )


def check_unset(logger_name: str) -> None:
    """InvalidConfigError unless the logger is in use; InvalidRequestError for the root, which must have a level."""
    _require_exists(logger_name)
    if logger_name == ROOT_LOGGER:
        raise InvalidRequestError(f"Removing the log level of the {ROOT_LOGGER} logger is not allowed")


def set_level(logger_name: str, level: str) -> None:
    """Give a logger a level of its own; checked as ``check_level`` does."""
    check_level(logger_name, level)
    _loggers()[logger_name].setLevel(LEVELS[level])
    logger.warning("Updated the log level of %s to %s", logger_name, level)


def unset_level(logger_name: str) -> None:
    """Take a logger's own level away; checked as ``check_unset`` does."""
    check_unset(logger_name)
    _loggers()[logger_name].setLevel(logging.NOTSET)
    logger.warning("Unset the log level of %s", logger_name)


def _require_exists(logger_name: str) -> None:
    if logger_name not in _loggers():
        raise InvalidConfigError(f"Logger {logger_name} does not exist!")


def _loggers() -> dict[str, logging.Logger]:
    in_use = logging.root.manager.loggerDict.items()
    return {name: found for name, found in in_use if isinstance(found, logging.Logger)} | {ROOT_LOGGER: logging.root}


def _level_name(level: int) -> str:
    """The most severe of log4j's levels that lets the same messages through."""
    return next((name for name, number in LEVELS.items() if number <= level), "TRACE")

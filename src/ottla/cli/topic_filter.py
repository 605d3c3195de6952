"""Which topics a pattern means: a regular expression for the whole name, with commas for alternatives."""

import re

from ottla.cli.errors import CommandError
from ottla.common.internal_topics import INTERNAL_TOPICS


class TopicFilter:
    """Topics whose whole name the expression matches; ``a,b`` is short for ``a|b``."""

    __slots__ = ("_pattern",)

    def __init__(self, expression: str) -> None:
        text = expression.strip().replace(",", "|").replace(" ", "").strip("\"'")
        try:
            self._pattern = re.compile(text)
        except re.error:
            raise CommandError(f"{text} is an invalid regex.") from None

    def allows(self, topic: str, *, exclude_internal: bool = False) -> bool:
        """Whether the topic is meant."""
        return self._pattern.fullmatch(topic) is not None and not (exclude_internal and topic in INTERNAL_TOPICS)

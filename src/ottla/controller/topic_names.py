"""Which names topics may have."""

import re
from collections.abc import Iterable
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError

CLUSTER_METADATA_TOPIC_NAME: Final = "__cluster_metadata"
MAX_NAME_LENGTH: Final = 249

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def validate_topic_name(name: str) -> None:
    """INVALID_TOPIC_EXCEPTION for a name that no topic may have."""
    if not name:
        reason = "the empty string is not allowed"
    elif name in (".", ".."):
        reason = f"'{name}' is not allowed"
    elif len(name) > MAX_NAME_LENGTH:
        reason = f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    elif _LEGAL.fullmatch(name) is None:
        reason = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return
    raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")


class CollisionIndex:
    """Finds the existing topic whose metrics a new one would share: metric names know no period.

    Made at the first name that could collide, because it looks at all topics.
    """

    __slots__ = ("_by_unified_name", "_existing")

    def __init__(self, existing: Iterable[str]) -> None:
        self._existing = existing
        self._by_unified_name: dict[str, str] | None = None

    def check(self, name: str) -> None:
        """INVALID_TOPIC_EXCEPTION when another topic's name differs from this one in periods and underscores only."""
        if "_" not in name and "." not in name:
            return
        if self._by_unified_name is None:
            self._by_unified_name = {other.replace(".", "_"): other for other in self._existing}
        other = self._by_unified_name.get(name.replace(".", "_"))
        if other is not None:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")

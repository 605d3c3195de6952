"""``memcpy`` for compiled code: numba's own loops and slices copy a hundred bytes in a tenth of a microsecond."""

from collections.abc import Callable
from typing import Any, cast

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ottla.records.walk_numba import Bytes


def _emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    target, position, source, start, size = arguments
    target_array = context.make_array(signature.args[0])(context, builder, target)
    source_array = context.make_array(signature.args[2])(context, builder, source)
    to, of = builder.gep(target_array.data, [position]), builder.gep(source_array.data, [start])
    cgutils.raw_memcpy(builder, to, of, size, 1)  # type: ignore[no-untyped-call]
    return context.get_dummy_value()


@intrinsic
def _copy_bytes(context: Any, target: Any, position: Any, source: Any, start: Any, size: Any) -> Any:  # noqa: ARG001, PLR0917
    return types.void(target, position, source, start, size), _emit


copy_bytes = cast("Callable[[Bytes, int, Bytes, int, int], None]", _copy_bytes)
"""To ``target`` at ``position``, from ``source`` at ``start``, so many bytes. Nothing is checked: see that they fit."""

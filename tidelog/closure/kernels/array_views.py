"""Arrays without their owners.

Numba counts references to arrays wherever they are passed on, which costs more than most of
the functions here do. Kernels that Python calls therefore take the pointers out of arrays
once, and pass those on; Python holds the arrays meanwhile. A pointer p is used as `p[i]`, and
nothing checks bounds.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


@intrinsic
def bare(typingctx: Any, array: Any) -> Any:
    """The pointer of an array of one dimension; of a named tuple of arrays, one of pointers."""

    def pointer(ctx: Any, builder: Any, kind: Any, value: Any) -> Any:
        return ctx.make_array(kind)(ctx, builder, value).data

    if isinstance(array, types.Array):

        def one(ctx: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return pointer(ctx, builder, array, arguments[0])

        return types.CPointer(array.dtype)(array), one

    result = types.NamedTuple(
        [types.CPointer(kind.dtype) for kind in array.types], array.instance_class
    )

    def all_of_them(ctx: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = [
            pointer(ctx, builder, kind, builder.extract_value(arguments[0], i))
            for i, kind in enumerate(array.types)
        ]
        return ctx.make_tuple(builder, result, values)

    return result(array), all_of_them

"""Bits of a word: how many there are, and which is the lowest."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def popcount(typingctx: Any, word: Any) -> Any:
    def codegen(ctx: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), codegen


@intrinsic
def lowest(typingctx: Any, word: Any) -> Any:
    """The place of the lowest bit of a word that is not 0."""

    def codegen(ctx: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen

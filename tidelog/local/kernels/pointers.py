"""Addresses as typed pointers, and one word read as another kind.

A pointer p made here is used as `p[i]`; nothing checks bounds, so callers must.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _pointer(element: Any) -> Any:
    result = types.CPointer(element)

    def typing(context: Any, address: Any) -> Any:
        def codegen(ctx: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], ctx.get_value_type(result))

        return result(types.int64), codegen

    return typing


@intrinsic
def u16(typingctx: Any, address: Any) -> Any:
    return _pointer(types.uint16)(typingctx, address)


@intrinsic
def u32(typingctx: Any, address: Any) -> Any:
    return _pointer(types.uint32)(typingctx, address)


@intrinsic
def i32(typingctx: Any, address: Any) -> Any:
    return _pointer(types.int32)(typingctx, address)


@intrinsic
def u64(typingctx: Any, address: Any) -> Any:
    return _pointer(types.uint64)(typingctx, address)


@intrinsic
def i64(typingctx: Any, address: Any) -> Any:
    return _pointer(types.int64)(typingctx, address)


@intrinsic
def u8(typingctx: Any, address: Any) -> Any:
    return _pointer(types.uint8)(typingctx, address)


@intrinsic
def as_float(typingctx: Any, word: Any) -> Any:
    def codegen(ctx: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), codegen


@intrinsic
def as_word(typingctx: Any, value: Any) -> Any:
    def codegen(ctx: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), codegen

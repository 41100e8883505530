"""A prefetch hint for kernels that look up many addresses."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def prefetch(typingctx: Any, address: Any) -> Any:
    """Request the cache line at an address without waiting for it."""

    def codegen(ctx: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        function = builder.module.globals.get("llvm.prefetch.p0")
        if function is None:
            function = ir.Function(builder.module, kind, name="llvm.prefetch.p0")
        write, keep, data = ir.Constant(flag, 1), ir.Constant(flag, 3), ir.Constant(flag, 1)
        builder.call(function, [builder.inttoptr(arguments[0], pointer), write, keep, data])
        return ctx.get_dummy_value()

    return types.void(types.int64), codegen

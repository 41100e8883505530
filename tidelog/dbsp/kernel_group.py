"""Where compiled kernels of circuits are kept between runs."""

from __future__ import annotations

from pathlib import Path

from numba.core.types import boolean, int32, int64

from tidelog.dbsp.kernels import cells, row_table, zset_joins
from tidelog.jit import prefetch
from tidelog.jit.groups import Kernels, Types


def _types() -> Types:
    rows, words, slots = int64[:, ::1], int64[::1], int32[::1]
    return {
        **dict.fromkeys(("asked", "cells", "given", "inputs", "into", "outputs"), rows),
        **dict.fromkeys(("probe", "result", "rows", "tests"), rows),
        **dict.fromkeys(("changes", "columns", "later", "weights"), words),
        **dict.fromkeys(("in_slots", "out_slots", "links", "slots", "wider"), slots),
        "rising": boolean,
    }


SOURCES = (*Path(__file__).parent.glob("kernels/*.py"), Path(prefetch.__file__))
KERNELS = Kernels("circuit", (cells, row_table, zset_joins), SOURCES, _types)

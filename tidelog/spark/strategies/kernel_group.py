"""The cached kernels of Spark's strategies."""

from __future__ import annotations

from pathlib import Path

from numba.core.types import int64

from tidelog.jit.groups import Kernels, Types
from tidelog.spark.strategies import graph_loops


def _types() -> Types:
    numbers, pairs = int64[::1], int64[:, ::1]
    return {
        **dict.fromkeys(("first", "ends", "starts", "seeds", "seen", "queue"), numbers),
        **dict.fromkeys(("parent", "kept"), numbers),
        **dict.fromkeys(("out", "edges", "bounds"), pairs),
    }


KERNELS = Kernels("Spark", (graph_loops,), (Path(graph_loops.__file__),), _types)

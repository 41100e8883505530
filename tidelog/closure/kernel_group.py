"""Where compiled kernels of closures are kept between runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import typeof
from numba.core.types import boolean, int32, int64, uint8, uint32, uint64

from tidelog.closure.growing_arrays import new
from tidelog.closure.kernels import (
    chains,
    classes,
    edge_deletion,
    edge_insertion,
    lists,
    node_order,
    nodes,
    pair_emission,
    pair_queries,
    rows,
    strong,
)
from tidelog.jit.groups import Kernels, Types

MODULES = (
    *(pair_queries, chains, classes, edge_deletion, pair_emission, edge_insertion),
    *(lists, nodes, node_order, rows, strong),
)


def _types() -> Types:
    from tidelog.closure.components import Classes, Plan
    from tidelog.closure.digraph import Lists
    from tidelog.closure.row_arrays import Queue, Rows, Scratch

    small, wide, marks = int32[::1], int64[::1], uint8[::1]
    ids, pairs, ways = uint32[::1], uint32[:, ::1], uint64[::1]
    one = new(0, np.int32)
    lists = typeof(Lists(new(0, np.int64), one, one, one))
    return {
        **dict.fromkeys(("after", "data", "listed", "numbers", "parents", "pieces"), small),
        **dict.fromkeys(("places", "roots", "table", "weights", "marks"), small),
        **dict.fromkeys(("bounds", "ends"), wide),
        "chains.ends": int64,
        "chains.queue": small,
        "node_order.scratch": int32[:, ::1],
        **dict.fromkeys(("here", "there", "pair_queries.marks", "edge_insertion.marks"), marks),
        **dict.fromkeys(("buffer", "flat", "ids", "names", "step", "wanted"), ids),
        "edges": pairs,
        "pair_queries.pairs": pairs,
        "chains.pairs": ids,
        "name": uint32,
        **dict.fromkeys(("back", "changed", "keys", "ways", "words", "node_order.found"), ways),
        "pair_queries.found": boolean[::1],
        "gone": boolean,
        **dict.fromkeys(("out", "into", "lists"), lists),
        "bundle": typeof(Classes(one, one, one)),
        "plan": typeof(Plan.of(0, 0, 0)),
        "rows": typeof(Rows.none()),
        "queue": typeof(Queue.for_nodes(0)),
        "scratch": typeof(Scratch.around(one, 0)),
    }


# Kernels know the bundles that they get by the order of their arrays: all files count.
KERNELS = Kernels("closures", MODULES, Path(__file__).parent.rglob("*.py"), _types)

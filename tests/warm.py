"""Compiles the kernels, once, before tests in several processes need them."""

from __future__ import annotations

import tidelog as tl
from tests.algorithms import ALGORITHMS
from tidelog.closure import cache as closures
from tidelog.dbsp import cache as circuits
from tidelog.engines.local import cache as engine

PROGRAM = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.decl same(x: number, y: number)
.decl alone(x: number)
.decl most(n: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
same(x, y) :- edge(x, y), x > 90.
same(x, y) :- same(y, x).
same(x, z) :- same(x, y), same(y, z).
alone(x) :- edge(x, _), !path(x, x).
most(n) :- n = count : { path(_, _) }.
"""


def warm() -> None:
    """Nothing to do, and next to no time, where the cache has them."""
    if engine.is_warm() and closures.is_warm() and circuits.is_warm():
        return
    for algorithm in ALGORITHMS:
        db = tl.Database(PROGRAM, facts={"edge": [(i, i + 1) for i in range(99)]})
        for change in ("insert", "delete"):
            with db.transaction(algorithm=algorithm) as tx:
                getattr(tx, change)("edge", [(99, 95), (95, 20), (50, 51)])


if __name__ == "__main__":
    warm()

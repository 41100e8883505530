"""A points-to analysis with contexts: with records and a component, and with plain columns.

A context is the last two call sites; an object is its allocation site and the call site under
which it was made. Both programs have the same rules over the same facts.
"""

from __future__ import annotations

from time import process_time

import numpy as np
from numpy.typing import NDArray

from bench.language.cases import Figures, best_of
from bench.report import Target
from tidelog import Database

RUNS = 5
MOST = 1.3  # times the time of the plain form

INPUTS = """
.decl entry(method: number)
.decl call(site: number, caller: number, callee: number)
.decl new(method: number, variable: number, site: number)
.decl assign(to: number, from: number)
.decl argument(site: number, to: number, from: number)
.decl load(to: number, base: number, field: number)
.decl store(base: number, field: number, from: number)
"""

RECORDS = (
    INPUTS
    + """
.type Context = [site: number, caller: number]
.type Object = [site: number, context: number]

.comp PointsTo {
  .decl reach(c: Context, method: number)
  .decl points(c: Context, variable: number, object: Object)
  .decl holds(object: Object, field: number, target: Object)
  reach([0, 0], m) :- entry(m).
  reach([s, c], m) :- reach([c, _], n), call(s, n, m).
  points(c, v, [h, s]) :- reach(c, m), new(m, v, h), c = [s, _].
  points(c, v, o) :- points(c, w, o), assign(v, w).
  points([s, c], v, o) :- points([c, _], w, o), argument(s, v, w).
  points(c, v, o) :- points(c, w, b), load(v, w, f), holds(b, f, o).
  holds(b, f, o) :- points(c, v, b), store(v, f, w), points(c, w, o).
}
.init a = PointsTo
"""
)

PLAIN = (
    INPUTS
    + """
.decl reach(c: number, d: number, method: number)
.decl points(c: number, d: number, variable: number, h: number, s: number)
.decl holds(h: number, s: number, field: number, i: number, t: number)
reach(0, 0, m) :- entry(m).
reach(s, c, m) :- reach(c, _, n), call(s, n, m).
points(c, d, v, h, c) :- reach(c, d, m), new(m, v, h).
points(c, d, v, h, s) :- points(c, d, w, h, s), assign(v, w).
points(s, c, v, h, t) :- points(c, _, w, h, t), argument(s, v, w).
points(c, d, v, i, t) :- points(c, d, w, h, s), load(v, w, f), holds(h, s, f, i, t).
holds(h, s, f, i, t) :- points(c, d, v, h, s), store(v, f, w), points(c, d, w, i, t).
"""
)


def facts(methods: int, seed: int = 9) -> dict[str, NDArray[np.int64]]:
    """Methods of 20 variables each, in modules of ten in which methods call later ones; about 39
    facts per method."""
    rng = np.random.default_rng(seed)
    home = np.arange(methods, dtype=np.int64)

    def many(count: int) -> NDArray[np.int64]:
        return np.repeat(home, count)

    def variable(of: NDArray[np.int64]) -> NDArray[np.int64]:
        return of * 20 + rng.integers(20, size=len(of))

    callers = many(2)
    callees = callers + rng.integers(1, 4, size=len(callers))
    inside_module = callees // 10 == callers // 10
    callers, callees = callers[inside_module], callees[inside_module]
    sites = np.arange(1, len(callers) + 1, dtype=np.int64)
    of_site = np.repeat(np.arange(len(callers)), 3)
    inside = many(20)
    ends = np.sort(np.column_stack([variable(inside), variable(inside)]), axis=1)
    made, read, written = many(5), many(4), many(4)
    return {
        "entry": home[::10][:, None],
        "call": np.column_stack([sites, callers, callees]),
        "new": np.column_stack([made, variable(made), np.arange(len(made))]),
        "assign": ends[:, ::-1],
        "argument": np.column_stack(
            [sites[of_site], variable(callees[of_site]), variable(callers[of_site])]
        ),
        "load": np.column_stack([variable(read), variable(read), rng.integers(6, size=len(read))]),
        "store": np.column_stack(
            [variable(written), rng.integers(6, size=len(written)), variable(written)]
        ),
    }


def measure(quick: bool) -> Figures:
    """Both forms, warmed up on a small case, in turns; their answers must agree."""
    small, given = facts(20), facts(200 if quick else 2600)
    assert _answer(Database(RECORDS, small), "a.") == _answer(Database(PLAIN, small), "")
    sizes: dict[str, int] = {}

    def form(text: str, prefix: str) -> float:
        began = process_time()
        database = Database(text, given)
        used = process_time() - began
        sizes[prefix] = sum(database.size(f"{prefix}{name}") for name in DERIVED)
        return min(database.stats.evaluate_seconds, used)

    with_records, plain = best_of(RUNS, lambda: form(RECORDS, "a."), lambda: form(PLAIN, ""))
    assert sizes["a."] == sizes[""], "both forms derive the same"
    count = sum(len(rows) for rows in given.values())
    ratio = with_records / plain
    text = (
        f"points-to with records and a component in at most {MOST} times the time of its plain form"
    )
    return Figures(
        "points-to",
        count,
        sizes[""],
        ("records, component", "plain"),
        (with_records, plain),
        Target(text, ratio <= MOST, f"{ratio:.2f} times"),
    )


DERIVED = ("reach", "points", "holds")


def _answer(database: Database, prefix: str) -> dict[str, set[tuple[int, ...]]]:
    """The facts with their records spread over columns."""
    return {
        name: {_spread(row) for row in database.relation(f"{prefix}{name}")} for name in DERIVED
    }


def _spread(row: tuple[object, ...]) -> tuple[int, ...]:
    found: list[int] = []
    for value in row:
        found += value if isinstance(value, tuple) else (value,)  # type: ignore[arg-type]
    return tuple(found)

"""A closure with one bound end, queried by demand, beside the whole closure.

`tidelog run --goal` and `query(…, demand=True)` are the same except for the process around them.
Facts and kernels are loaded before either is measured.
"""

from __future__ import annotations

import time
from functools import partial
from random import Random

from bench.language.cases import Case, Figures, best_of
from bench.report import Target
from tidelog import Database

NODES, EDGES, SEED = {False: 4_000, True: 400}, 4, 1
RUNS = 5
LEAST = 20
DECLARED = """\
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
"""
FORMS = {
    "left-linear": "path(x, z) :- path(x, y), edge(y, z).",
    "right-linear": "path(x, z) :- edge(x, y), path(y, z).",
    "non-linear": "path(x, z) :- path(x, y), path(y, z).",
}
GOAL = "path(17, x)"


def graph(nodes: int) -> list[tuple[int, int]]:
    random = Random(SEED)
    pairs = ((random.randrange(nodes), random.randrange(nodes)) for _ in range(EDGES * nodes))
    return sorted(set(pairs))


def measure(quick: bool, form: str) -> Figures:
    edges = graph(NODES[quick])
    program = DECLARED + FORMS[form]
    lazy = Database(program, facts={"edge": edges}, lazy=True)
    lazy.query("path(5, x), x < 0", demand=True)  # kernels are loaded, and those of closures
    Database(program, facts={"edge": graph(NODES[True])})

    def goal() -> float:
        began = time.perf_counter()
        lazy.query(GOAL, demand=True)
        return time.perf_counter() - began

    (asked,) = best_of(RUNS, goal)
    whole = Database(program, facts={"edge": edges})
    assert lazy.query(GOAL, demand=True) == whole.query(GOAL)
    seconds = whole.stats.evaluate_seconds
    text = f"a goal with one end bound, {form}: at least {LEAST} times as fast as the whole closure"
    return Figures(
        f"goal, {form}",
        len(edges),
        whole.size("path"),
        (f"`{GOAL}`", "whole closure"),
        (asked, seconds),
        Target(text, seconds >= LEAST * asked, f"{seconds / asked:,.0f} times"),
    )


CASES = tuple(Case(f"goal-{form}", partial(measure, form=form)) for form in FORMS)

"""`--goal` on a closure with one bound argument, against the whole closure.

`python -m bench.language.goal` prints the rows. Facts are loaded before either is measured, and
kernels are; of the goal, which takes no time, it is the best of some runs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from tidelog import Database

NODES, EDGES, SEED = 4_000, 16_000, 1
RUNS = 5
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


class Row(NamedTuple):
    what: str
    whole: float  # seconds of the whole closure
    goal: float  # seconds of the goal
    facts: int  # of the whole closure
    answers: int

    @property
    def ratio(self) -> float:
        return self.whole / self.goal


def graph() -> list[tuple[int, int]]:
    random = Random(SEED)
    pairs = ((random.randrange(NODES), random.randrange(NODES)) for _ in range(EDGES))
    return sorted(set(pairs))


def rows() -> Iterator[Row]:
    """One for each form of the closure."""
    edges = graph()
    for name, rule in FORMS.items():
        yield measure(name, DECLARED + rule, edges)


def measure(what: str, program: str, edges: list[tuple[int, int]]) -> Row:
    lazy = Database(program, facts={"edge": edges}, lazy=True)
    lazy.query("path(5, x), x < 0", demand=True)  # kernels are loaded
    runs = []
    for _ in range(RUNS):
        began = time.perf_counter()
        answer = lazy.query(GOAL, demand=True)
        runs.append(time.perf_counter() - began)
    whole = Database(program, facts={"edge": edges})
    assert answer == whole.query(GOAL)
    return Row(what, whole.stats.evaluate_seconds, min(runs), whole.size("path"), len(answer))


if __name__ == "__main__":
    for row in rows():
        print(
            f"{row.what:<28} whole {row.whole:8.3f} s ({row.facts:,} facts)   "
            f"goal {row.goal:7.4f} s ({row.answers:,} answers)   {row.ratio:,.0f} times"
        )

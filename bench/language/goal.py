"""`--goal` on a closure with one bound argument, against the whole closure.

`python -m bench.language.goal` prints the rows. Both are measured as a user has them: `tidelog
run` in a process of its own, reading the same facts; and in one process, without its start.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from tidelog import Database

NODES, EDGES, SEED = 6_000, 24_000, 1
DECLARED = """\
.decl edge(x: number, y: number)
.input edge
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
    """Each form in one process, and the first one by the command line."""
    edges = graph()
    for name, rule in FORMS.items():
        yield _in_process(name, DECLARED.replace(".input edge\n", "") + rule, edges)
    yield _by_command("left-linear, tidelog run", DECLARED + FORMS["left-linear"], edges)


def _in_process(what: str, program: str, edges: list[tuple[int, int]]) -> Row:
    lazy = Database(program, facts={"edge": edges}, lazy=True)
    lazy.query("path(5, x), x < 0", demand=True)  # kernels are loaded
    began = time.perf_counter()
    answer = lazy.query(GOAL, demand=True)
    goal = time.perf_counter() - began
    whole = Database(program, facts={"edge": edges})
    assert answer == whole.query(GOAL)
    return Row(what, whole.stats.evaluate_seconds, goal, whole.size("path"), len(answer))


def _by_command(what: str, program: str, edges: list[tuple[int, int]]) -> Row:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "path.dl").write_text(f"{program}\n.printsize path\n")
        (folder / "edge.facts").write_text("".join(f"{x}\t{y}\n" for x, y in edges))
        goal, answers = _timed(folder, "--goal", GOAL)
        whole, printed = _timed(folder)
    return Row(
        what, whole, goal, int(printed.split()[-1]), int(answers.split()[-2].replace(",", ""))
    )


def _timed(folder: Path, *options: str) -> tuple[float, str]:
    command = [sys.executable, "-m", "tidelog", "run", "path.dl", *options]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    began = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return time.perf_counter() - began, done.stdout


if __name__ == "__main__":
    for row in rows():
        print(
            f"{row.what:<28} whole {row.whole:8.3f} s ({row.facts:,} facts)   "
            f"goal {row.goal:7.4f} s ({row.answers:,} answers)   {row.ratio:,.0f} times"
        )

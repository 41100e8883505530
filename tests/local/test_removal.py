"""Many rows taken away at once, out of vectors of indexes that are long."""

from __future__ import annotations

import time
from random import Random

import numpy as np
import pytest

from tidelog import Database

# Indexes of one column, of two, and of three, whose vectors hold one column, two, and all.
PROGRAM = """
.decl r(a: number, b: number, c: number, d: number)
.decl key(a: number)
.decl pair(a: number, b: number)
.decl three(a: number, b: number, c: number)
.decl two(a: number, b: number)
one(b) :- key(a), two(a, b).
by_one(b, c, d) :- key(a), r(a, b, c, d).
by_two(c, d) :- pair(a, b), r(a, b, c, d).
by_three(d) :- three(a, b, c), r(a, b, c, d).
"""


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_one_key_go_and_come(seed: int) -> None:
    random = Random(seed)
    rows = {
        (random.randrange(2), random.randrange(3), random.randrange(4), random.randrange(400))
        for _ in range(3000)
    }
    facts = {
        "r": sorted(rows),
        "two": sorted({(a, d) for a, _, _, d in rows}),
        "key": [(0,)],
        "pair": [(0, 1), (1, 2)],
        "three": [(0, 1, 2), (1, 0, 3)],
    }
    db = Database(PROGRAM, facts=facts, modules=False)
    held = {name: set(map(tuple, given)) for name, given in facts.items()}
    for _ in range(8):
        with db.transaction() as tx:
            for name in ("r", "two"):
                now = sorted(held[name])
                share = random.choice([0.02, 0.3, 0.9, 1.0])
                chosen = random.choice([None, 0, 1])  # rows of one key only, or of all
                gone = [
                    row for row in now if row[0] == (chosen or row[0]) and random.random() < share
                ]
                back = random.sample(facts[name], 50)
                tx.delete(name, gone)
                tx.insert(name, back)
                held[name] = (held[name] - set(gone)) | set(back)
        fresh = Database(PROGRAM, facts={n: sorted(rows) for n, rows in held.items()})
        for name in fresh.relations:
            assert db[name].rows() == fresh[name].rows(), name


def test_one_look_at_a_vector_for_all_that_leave_it() -> None:
    """Twenty times the rows, of which twenty times as many go, take not 400 times as long."""

    def seconds(size: int) -> float:
        rows = np.column_stack([np.zeros(size, int), np.arange(size)])
        program = "q(y) :- p(x), r(x, y). q(z) :- q(y), r(y, z)."
        db = Database(program, facts={"r": rows, "p": [(0,)]})
        gone = np.random.default_rng(1).permutation(rows)[: size // 10]
        began = time.process_time()
        with db.transaction() as tx:
            tx.delete("r", gone)
        return time.process_time() - began

    seconds(1_000)
    small = min(seconds(15_000) for _ in range(3))
    assert any(seconds(300_000) < 80 * small for _ in range(3))

"""Changes that are undone leave nothing behind: not in ages, and not in what closures know."""

from __future__ import annotations

from random import Random

import pytest

from tests.algorithms import ALGORITHMS
from tidelog import Database
from tidelog.maintain import closure_seeds, materialise

PROGRAMS = {
    "closure": "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).",
    "square": "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z).",
    "chains": """
        path(x, z) :- edge(x, y), edge(z, y). path(x, z) :- path(x, y), path(y, z).
        path(x, y) :- path(y, x).
    """,
    "among others": """
        path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z).
        back(y, x) :- path(x, y), edge(y, x). path(x, y) :- back(x, y).
    """,
}
NODES = 12


def graph(random: Random, size: int) -> list[tuple[int, int]]:
    return [(random.randrange(NODES), random.randrange(NODES)) for _ in range(size)]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("algorithm", ["auto", "aged", "dred", "dredc-mod", "bfc-mod"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("seed", range(6))
def test_what_is_undone_leaves_nothing(
    seed: int, program: str, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(f"{program} {algorithm} {seed}")
    monkeypatch.setattr(materialise, "LONG", random.choice((0, 10**9)))
    monkeypatch.setattr(closure_seeds, "FEW", 0)
    db = Database(PROGRAMS[program], facts={"edge": graph(random, 24)})
    for _ in range(12):
        edges = list(db.relation("edge"))
        way = random.choice((algorithm, algorithm, *ALGORITHMS))
        gone = random.sample(edges, min(len(edges), random.choice((1, 1, 3))))
        come = graph(random, random.choice((0, 1, 3)))
        end = random.choice(("commit", "commit", "dry", "rollback", "error"))
        before = {name: set(db.relation(name)) for name in db.relations}
        try:
            with db.transaction(algorithm=way, dry_run=end == "dry") as tx:
                tx.delete("edge", gone)
                tx.insert("edge", come)
                if end == "rollback":
                    tx.rollback()
                elif end == "error":
                    raise ZeroDivisionError
        except ZeroDivisionError:
            assert end == "error"
        found = {name: set(db.relation(name)) for name in db.relations}
        if end != "commit":
            assert found == before
        fresh = Database(PROGRAMS[program], {"edge": list(db.relation("edge"))}, modules=False)
        assert found == {name: set(fresh.relation(name)) for name in fresh.relations}

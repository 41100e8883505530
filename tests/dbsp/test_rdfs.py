"""The RDFS reasoner of the examples, against rules that are applied one by one to a set."""

from __future__ import annotations

import random
import runpy
from pathlib import Path

import pytest

from tidelog.dbsp import Symbols, ZSet

SCRIPT = Path(__file__).parents[2] / "examples" / "dbsp" / "rdfs.py"
Triple = tuple[str, str, str]


def entailed(given: set[Triple]) -> set[Triple]:
    found = set(given)
    while True:
        new: set[Triple] = set()
        for s, p, o in found:
            for t, q, c in found:
                match q:
                    case "domain" if p == t:
                        new.add((s, "a", c))
                    case "range" if p == t:
                        new.add((o, "a", c))
                    case "subPropertyOf" if p == t:
                        new.add((s, c, o))
                    case "subClassOf" if p == "a" and o == t:
                        new.add((s, "a", c))
                if p == q and p in ("subClassOf", "subPropertyOf") and o == t:
                    new.add((s, p, c))
        if new <= found:
            return found
        found |= new


@pytest.mark.parametrize("seed", range(8))
def test_what_is_entailed_follows_schema_and_data(seed: int) -> None:
    rng = random.Random(seed)
    things, classes, properties = list("xyz"), list("CDE"), list("pqr")

    def triple() -> Triple:
        choices = {
            "a": (things, classes),
            "domain": (properties, classes),
            "range": (properties, classes),
            "subClassOf": (classes, classes),
            "subPropertyOf": (properties, [*properties, "a", "subClassOf"]),
        }
        p = rng.choice([*choices, *properties])
        subjects, objects = choices.get(p, (things, things))
        return rng.choice(subjects), p, rng.choice(objects)

    names = Symbols()
    circuit = runpy.run_path(str(SCRIPT))["reasoner"](names)
    given: set[Triple] = set()
    known = ZSet.zero(3)
    for _ in range(25):
        come = {triple() for _ in range(rng.choice((1, 3)))} - given
        go = set(rng.sample(sorted(given), min(len(given), rng.choice((0, 1, 3)))))
        change = dict.fromkeys(come, 1) | dict.fromkeys(go, -1)
        known += circuit.step(triple=names.zset(change, width=3))["triple"]
        given = (given | come) - go
        assert names.rows(known) == dict.fromkeys(entailed(given), 1)

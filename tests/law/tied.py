"""Programs about closures, and rules that tie them to other relations.

With and without some of these rules, relations are closures of their own, a closure and its
inverse, or parts of one stratum with generic rules.
"""

from __future__ import annotations

from random import Random

from tests.law.generate import Generated, Relation
from tidelog.program.syntax import Kind

NUMBERS: tuple[Kind, ...] = ("number", "number")
RELATIONS = tuple(
    Relation(name, NUMBERS[:arity], group)
    for group, names in enumerate(
        (
            {"edge": 2, "mark": 1},
            {"path": 2, "back": 2, "same": 2, "some": 1},
            {"far": 2, "many": 2},
        )
    )
    for name, arity in names.items()
)
CLOSURES = ("path", "back", "same")
BASE = """
path(x, y) :- edge(x, y).
back(y, x) :- edge(x, y).
same(x, y) :- edge(x, y), mark(x).
some(x) :- mark(x).
"""
CLOSING = """
path(x, z) :- path(x, y), path(y, z).
back(x, z) :- back(x, y), back(y, z).
same(x, z) :- same(x, y), same(y, z).
same(y, x) :- same(x, y).
path(y, x) :- path(x, y).
path(x, z) :- path(x, y), edge(y, z).
back(x, z) :- edge(y, x), back(y, z).
"""
TIES = """
back(y, x) :- path(x, y).
path(y, x) :- back(x, y).
same(x, y) :- path(x, y), back(x, y).
path(x, y) :- same(x, y).
path(x, y) :- same(x, y), x > 100.
some(x) :- path(x, _), x > 100.
some(y) :- same(x, y), some(x).
path(x, x) :- some(x).
same(x, y) :- back(x, y), some(x).
back(x, y) :- same(x, z), edge(z, y).
"""
ABOVE = """
far(x, y) :- mark(x), some(y), !path(x, y).
far(x, z) :- far(x, y), far(y, z).
many(x, n) :- mark(x), n = count : { same(x, _) }.
"""
RULES = [rule for part in (BASE, CLOSING, TIES, ABOVE) for rule in part.strip().splitlines()]
TYING = frozenset(TIES.strip().splitlines())


def tied(seed: int) -> Generated:
    """Rules about a graph of a few nodes; all that ties relations may be there from the start."""
    random = Random(seed)
    nodes = range(random.choice((3, 4, 6)))
    edges = {(x, x + 1) for x in nodes if random.random() < 0.8} or {(0, 1)}
    edges |= {(random.choice(nodes), random.choice(nodes)) for _ in range(random.choice((0, 1, 3)))}
    marks = {(random.choice(nodes),) for _ in range(2)}
    few = random.sample(sorted(TYING), random.choice((2, 3, 4)))
    rules = [rule for rule in RULES if rule in few or rule not in TYING]
    declarations = [
        f".decl {r.name}({', '.join(f'x{i}: number' for i in range(len(r.kinds)))})"
        for r in RELATIONS
    ]
    facts = {"edge": sorted(edges), "mark": sorted(marks)}
    text = "\n".join((*declarations, *rules)) + "\n"
    return Generated(text, facts, frozenset(), RELATIONS)

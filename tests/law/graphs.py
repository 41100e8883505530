"""Programs about graphs: deep recursion of all sorts, where facts have many proofs or one.

Generated programs seldom recurse for more than a few rounds; these do.
"""

from __future__ import annotations

from random import Random

from tests.law.generate import Generated, Relation
from tidelog.program.syntax import Kind

NUMBERS: tuple[Kind, ...] = ("number", "number", "number")
RELATIONS = tuple(
    Relation(name, NUMBERS[:arity], group)
    for group, names in enumerate(
        (
            {"edge": 2, "mark": 1},
            {"node": 1, "path": 2, "odd": 2, "even": 2, "same": 2, "dist": 3},
            {"apart": 2, "reach": 2, "least": 2},
            {"big": 1, "near": 2, "ring": 2},
            {"lonely": 1, "total": 1},
        )
    )
    for name, arity in names.items()
)
RULES = """
node(x), node(y) :- edge(x, y).
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
path(x, z) :- edge(x, y), path(y, z).
path(x, z) :- path(x, y), path(y, z).
path(x, z) :- path(x, y), path(y, z), !mark(y).
path(y, x) :- path(x, y), mark(x).
odd(x, y) :- edge(x, y).
odd(x, z) :- even(x, y), edge(y, z).
even(x, z) :- odd(x, y), edge(y, z).
even(x, x) :- mark(x).
same(x, x) :- node(x).
same(x, y) :- edge(p, x), same(p, q), edge(q, y).
dist(x, y, 1) :- edge(x, y).
dist(x, z, d + 1) :- dist(x, y, d), edge(y, z), d < 4.
apart(x, y) :- node(x), node(y), !path(x, y).
reach(x, n) :- node(x), n = count : { path(x, _) }.
reach(x, n) :- node(x), n = sum d : { dist(x, _, d) }.
least(x, m) :- node(x), m = min y : { even(x, y) }.
big(x) :- reach(x, n), n > 4.
big(y) :- big(x), edge(x, y), !mark(y).
near(x, y) :- apart(x, y), least(x, y).
near(x, z) :- near(x, y), edge(y, z), !apart(z, x).
near(x, z) :- near(x, y), near(y, z).
ring(x, y) :- path(x, y), path(y, x).
ring(x, z) :- ring(x, y), ring(y, z), x != z.
lonely(x) :- node(x), !ring(x, _), !big(x).
total(n) :- n = count : { near(_, _) }.
edge(x, y) :- odd(y, x), mark(y).
mark(y) :- mark(x), edge(x, y), x < y.
""".strip().splitlines()


def graph(seed: int) -> Generated:
    """Rules about a graph of a few nodes: a chain or a ring with some more edges, mostly."""
    random = Random(seed)
    nodes = range(random.choice((4, 6, 8)))
    edges = {(x, x + 1) for x in nodes if random.random() < 0.8}
    edges |= {(random.choice(nodes), random.choice(nodes)) for _ in range(random.choice((1, 4, 9)))}
    marks = {(random.choice(nodes),) for _ in range(2)}
    rules = random.sample(RULES, 14)
    declarations = [
        f".decl {r.name}({', '.join(f'x{i}: number' for i in range(len(r.kinds)))})"
        for r in RELATIONS
    ]
    facts = {"edge": sorted(edges), "mark": sorted(marks)}
    text = "\n".join((*declarations, *sorted(rules, key=RULES.index))) + "\n"
    return Generated(text, facts, frozenset(), RELATIONS)

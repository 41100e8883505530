"""Cases for the model checker: the examples of Illich and Glimm (2023), and generated ones."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from bench.stepwise.dynamic import Case
from bench.stepwise.marking import Update
from bench.stepwise.matching import Fact, Rules


def program(*rules: str) -> Rules:
    """Rules without arguments, as the papers write them: `a b -> c`."""
    parts = [(body.split(), head.strip()) for body, head in (rule.split("->") for rule in rules)]
    names = sorted({name for body, head in parts for name in (*body, head)})
    declared = [f".decl {name}()" for name in names]
    clauses = [f"{head}() :- {', '.join(f'{name}()' for name in body)}." for body, head in parts]
    return Rules.read("\n".join([*declared, *clauses]))


def facts(names: str) -> tuple[Fact, ...]:
    return tuple(map(Fact, names.split()))


def update(deleted: str = "", inserted: str = "") -> Update:
    return Update(facts(deleted), facts(inserted))


INVALID_ADDITION = Case(
    program("a -> b", "b -> c", "c -> a"), (), (update(inserted="a"), update(deleted="a"))
)
INVALID_DELETION = Case(
    program("a -> b", "b -> c", "c -> a", "d -> a"),
    facts("a"),
    (update(deleted="a", inserted="d"),),
)
DELETION_WITHOUT_DERIVATION = Case(
    program("a -> b", "a -> c", "d -> c"), (), (update(inserted="a d"), update(deleted="a"))
)
DUPLICATE_DERIVATION = Case(
    program("a -> b", "a -> c"), facts("a"), (update(deleted="a"), update(inserted="a"))
)
EXAMPLES = {
    "1": INVALID_ADDITION,
    "2": INVALID_DELETION,
    "3": DELETION_WITHOUT_DERIVATION,
    "4": DUPLICATE_DERIVATION,
}

CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z), x != z.
"""


def generated(seed: int) -> Case:
    """A few rules over a few facts, any of which may be explicit, and updates that undo others."""
    rng = random.Random(seed)
    names = "abcdef"[: rng.randint(3, 6)]
    rules = [
        f"{' '.join(rng.sample(names, rng.choice((1, 1, 2))))} -> {rng.choice(names)}"
        for _ in range(rng.randint(2, 5))
    ]
    used = sorted({name for name in names if any(name in rule for rule in rules)})
    universe = [Fact(name) for name in used]
    start = tuple(rng.sample(universe, rng.randint(0, 2)))
    return Case(program(*rules), start, tuple(changes(rng, universe, start, rng.choice((2, 3)), 2)))


def changes(
    rng: random.Random, universe: Sequence[Fact], start: Iterable[Fact], count: int, most: int
) -> Iterable[Update]:
    """Updates of at most this many facts each way, as the papers require: E⁻ ⊆ E, E⁺ ∩ E = ∅."""
    E = set(start)
    for _ in range(count):
        deleted = [fact for fact in universe if fact in E and rng.random() < 0.5][:most]
        inserted = [fact for fact in universe if fact not in E and rng.random() < 0.5][:most]
        E = (E - set(deleted)) | set(inserted)
        yield Update(tuple(deleted), tuple(inserted))


def graph(seed: int, text: str, nodes: int, count: int, most: int) -> Case:
    """Edges that are inserted and deleted."""
    rng = random.Random(seed)
    edges = [Fact("edge", (x, y)) for x in range(nodes) for y in range(nodes)]
    rng.shuffle(edges)
    start = tuple(rng.sample(edges, nodes))
    return Case(Rules.read(text), start, tuple(changes(rng, edges, start, count, most)))

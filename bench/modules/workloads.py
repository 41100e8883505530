"""Programs with closures and facts for them: the paper's cases, as far as they can be reproduced.

Hu, Motik, Horrocks: Modular Materialisation of Datalog Programs (2019), section 7. The rules of
LUBM and Claros are the paper's own. Claros' data and DBpedia are not available: generated facts of
the same shape stand in for them. The caller decides how many facts are deleted;
`among` are the facts from which they are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench import data
from bench.data import Facts, Rows, distinct
from bench.plain import parse_plain
from bench.workloads import declared, recorded, text


@dataclass(frozen=True)
class Case:
    """A program with facts, and the relations whose explicit facts are deleted."""

    name: str
    title: str
    program: str
    facts: Facts
    deleted: tuple[str, ...]
    paper: str | None = None  # the row of the paper's tables that it is compared with
    # a multiple of the usual limit of a step, to learn more about what is slow
    patience: float = 1.0

    @property
    def given(self) -> int:
        return sum(len(rows) for rows in self.facts.values())

    @property
    def among(self) -> Facts:
        return {name: self.facts[name] for name in self.deleted}


def components(sizes: Sequence[int], more: float, rng: np.random.Generator) -> Rows:
    """Edges that make components of these sizes, of nodes numbered in their order.

    A random tree holds each together, and a share `more` of as many edges again stand beside
    it, so that some edges can go without effect; each points in either direction.
    """
    parts = []
    start = 0
    for size in sizes:
        child = np.arange(1, size)
        tree = np.column_stack([child, (rng.random(size - 1) * child).astype(np.int64)])
        extra = rng.integers(size, size=(round(more * size), 2))
        parts.append(np.concatenate([tree, extra[extra[:, 0] != extra[:, 1]]]) + start)
        start += size
    edges = np.concatenate(parts).astype(np.int64)
    turned = rng.random(len(edges)) < 0.5
    return distinct(np.where(turned[:, None], edges[:, ::-1], edges))


def cliques(large: Sequence[int], small: int, seed: int) -> Case:
    """Related places: a few large components, and many of 2 to 12 places.

    There are few explicit facts, and a component of n places has n² facts.
    """
    rng = np.random.default_rng(seed)
    sizes = [*large, *(int(size) for size in 2 + rng.geometric(0.35, small).clip(1, 11) - 1)]
    places = sum(sizes)
    related = components(sizes, 0.3, rng)
    ends = np.cumsum(sizes)
    # Documents refer to two or three places of a component, one in ten components has one.
    written = rng.permutation(len(sizes))[: max(2, len(sizes) // 10)]
    refers = [
        (places + document, int(ends[which] - 1 - rng.integers(sizes[which])))
        for document, which in enumerate(written)
        for _ in range(rng.integers(2, 4))
    ]
    fresh = 2 * places + np.arange(max(2, places // 50))
    regions = np.concatenate([ends[: len(large)] - 1, rng.integers(places, size=len(sizes) // 20)])
    facts = {
        "place": np.arange(places, dtype=np.int64)[rng.random(places) < 0.9].reshape(-1, 1),
        "refers": distinct(np.array(refers, dtype=np.int64)),
        "renamed": np.column_stack([fresh, rng.integers(places, size=len(fresh))]),
        "related": related,
        "region": np.column_stack([regions, 3 * places + np.arange(len(regions))]),
    }
    title = f"related places, {len(sizes):,} components of 2 to {max(sizes):,}"
    return Case("cliques", title, text("related_places"), facts, ("related",), "Claros-LE", 2)


def claros(large: Sequence[int], small: int, constants: int, each: int, seed: int) -> Case:
    """Claros-LE's 1,337 rules, with its 27 transitive and 2 symmetric-transitive relations, on some
    facts of every relation and components of related places; facts of all relations are deleted."""
    rng = np.random.default_rng(seed)
    program = recorded("claros")
    facts = {
        name: distinct(rng.integers(constants, size=(each, arity)))
        for name, arity in parse_plain(program).arities.items()
    }
    sizes = [*large, *(int(size) for size in 2 + rng.geometric(0.35, small).clip(1, 11) - 1)]
    facts["a1_relatedPlaces"] = components(sizes, 0.3, rng) + constants  # apart from the others
    title = f"Claros' 1,337 rules, {len(sizes):,} components of places of 2 to {max(sizes):,}"
    return Case("claros", title, program, facts, tuple(facts), "Claros-LE", 2)


def lubm(departments: int, seed: int) -> Case:
    """LUBM-LE's 107 rules on generated universities; facts of all relations are deleted.

    Courses that share a student, and colleagues, are symmetric and transitive:
    a clique for each department. Organisations are transitive, in chains of two.
    """
    program = recorded("lubm")
    facts = declared(program, data.lubm_relations(data.lubm_like(departments, seed)))
    title = f"LUBM's 107 rules, {departments} departments"
    return Case("lubm", title, program, facts, tuple(facts), "LUBM-LE")


def chains(concepts: int, rng: np.random.Generator) -> Rows:
    """`broader(x, y)`: a tenth of the concepts are connected, the others are in groups of thirty.

    In the large part most concepts have one broader concept and some have two or three, a little
    before them, so that chains are long; and one fact in a thousand leads back, which makes
    cycles. The paper says that DBpedia has both. How long they are follows from its times: without
    modules DBpedia takes 1.12 times as long as DAG-R, whose graph has 9,961 million instances of
    its rule, so it has about 11,100 million, or 121 for each of its 92 million derived facts. With
    50,000 concepts and the seed below there are 123 here.
    """
    large = concepts // 10
    child = np.repeat(np.arange(1, large), rng.choice([1, 2, 3], large - 1, p=[0.9, 0.08, 0.02]))
    away = 1 + rng.exponential(large / 250, size=len(child)).astype(np.int64)
    ends = np.column_stack([child, np.maximum(child - away, 0)])
    back = rng.random(len(child)) < 0.001
    ends = np.where(back[:, None], ends[:, ::-1], ends)
    place = np.arange(concepts - large)
    inside = place % 30
    lower = np.column_stack([place, place - inside + (rng.random(len(place)) * inside).astype(int)])
    return distinct(np.concatenate([ends, lower[inside > 0] + large]).astype(np.int64))


def flat(concepts: int, rng: np.random.Generator) -> Rows:
    """`broader(x, y)` with few steps to the top, and with few cycles. Broader concepts are anywhere
    in the half before a concept, later ones more often. A closed fact then has few derivations, and
    a closure has little to save."""
    child = np.repeat(
        np.arange(1, concepts), rng.choice([1, 2, 3], concepts - 1, p=[0.9, 0.08, 0.02])
    )
    parent = (child * (0.5 + 0.5 * rng.random(len(child)) ** 0.5)).astype(np.int64)
    ends = np.column_stack([child, np.minimum(parent, child - 1)])
    back = rng.random(len(child)) < 0.0005
    return distinct(np.where(back[:, None], ends[:, ::-1], ends))


Hierarchy = Callable[[int, np.random.Generator], Rows]


def skos(concepts: int, hierarchy: Hierarchy, seed: int) -> Case:
    """Concepts under the rules of SKOS; one broader fact in twenty is stated as narrower."""
    rng = np.random.default_rng(seed)
    up = hierarchy(concepts, rng)
    inverse = rng.random(len(up)) < 0.05

    def some(count: int) -> Rows:
        """Pairs of concepts that are near each other."""
        x = rng.integers(concepts - 10, size=max(2, count))
        return distinct(np.column_stack([x, x + rng.integers(1, 10, size=len(x))]))

    schemes = concepts + np.arange(max(1, concepts // 1000))
    facts = {
        "broader": np.ascontiguousarray(up[~inverse]),
        "narrower": np.ascontiguousarray(up[inverse][:, ::-1]),
        "related": some(concepts // 5),
        "exactMatch": some(concepts // 20),
        "broadMatch": np.ascontiguousarray(some(concepts // 500)[:, ::-1]),
        "relatedMatch": some(concepts // 50),
        "inScheme": np.column_stack([np.arange(concepts), rng.choice(schemes, size=concepts)]),
        "hasTopConcept": np.column_stack([schemes, rng.integers(10, size=len(schemes))]),
    }
    shape = hierarchy.__name__
    title = f"SKOS, {concepts:,} concepts, {shape}"
    return Case(f"skos-{shape}", title, text("skos"), facts, ("broader",), "DBpedia-SKOS")


def dag_r(nodes: int, seed: int) -> Case:
    """The paper's DAG-R: a random acyclic graph with ten edges a node, and a transitive relation.

    The paper does not say how the graph is drawn: here all pairs are equally likely. With 10,000
    nodes there are about 22.5 million facts, and seeds differ by 2%. The one below was picked, of
    119, because it gives as many as the paper has: 22.9 million, edges included.
    """
    facts = {"edge": data.random_dag(nodes, 10 * nodes, seed)}
    title = f"DAG-R, {nodes:,} nodes, {10 * nodes:,} edges"
    return Case("dag-r", title, text("closure_nonlinear"), facts, ("edge",), "DAG-R", 2)


def digraph(nodes: int, density: float, seed: int) -> Case:
    """A random digraph, its closure written as two paths that make one."""
    facts = {"edge": data.random_digraph(nodes, density, seed)}
    title = f"random digraph, {nodes:,} nodes, {len(facts['edge']):,} edges"
    return Case(f"digraph-{nodes}", title, text("closure_nonlinear"), facts, ("edge",))


def cases(quick: bool = False) -> dict[str, Callable[[], Case]]:
    """All cases by name, in full size or small with the same shape; each is built on demand."""
    if quick:
        return {
            "cliques": partial(cliques, (40, 30), 150, seed=1),
            "claros": partial(claros, (40, 30), 150, 500, 2, seed=1),
            "lubm": partial(lubm, 1, seed=5),
            "skos-chains": partial(skos, 600, chains, seed=2),
            "skos-flat": partial(skos, 600, flat, seed=2),
            "dag-r": partial(dag_r, 100, seed=7),
            "digraph-200": partial(digraph, 200, 0.02, seed=4),
        }
    return {
        "cliques": partial(cliques, (600, 400, 300, 200), 2000, seed=1),
        "claros": partial(claros, (600, 400, 300, 200), 2000, 5000, 20, seed=1),
        "lubm": partial(lubm, 60, seed=5),
        "skos-chains": partial(skos, 50_000, chains, seed=3),
        "skos-flat": partial(skos, 20_000, flat, seed=2),
        "dag-r": partial(dag_r, 10_000, seed=93),
        "digraph-1000": partial(digraph, 1000, 0.01, seed=4),
        "digraph-2000": partial(digraph, 2000, 0.00075, seed=4),
    }

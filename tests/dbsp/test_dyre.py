"""The circuit of the paper equals its definitions, and the interpreter equals the circuit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import given, settings

from tests.dbsp.positive import DECLARED, RULES, Move, Story, histories
from tests.dbsp.words import Facts, Plain, rules_of, step
from tidelog.dbsp.circuit_state import PathNode
from tidelog.dbsp.definitions import NOTHING, WEIGHTED, Weighted, interpreted
from tidelog.dbsp.delays import Past
from tidelog.dbsp.dyre import Dyre, atoms, provenance
from tidelog.dbsp.interpreter import Interpreter
from tidelog.dbsp.streams import Stream
from tidelog.program.rules import Literal, Rule
from tidelog.program.syntax import Variable

indexes = pytest.mark.parametrize("indexed", [True, False], ids=["figure 3", "figure 2"])
Timed = dict[tuple[Any, int], int]  # weights of elements with inner times


def move(dyre: Dyre, change: Facts, come: Iterable[Rule], gone: Iterable[Rule]) -> Facts:
    return dyre.step(change, dict.fromkeys(come, 1) | dict.fromkeys(gone, -1))


def kept(dyre: Dyre, past: Past) -> dict[tuple[tuple[Any, ...], int], int]:
    """What a circuit remembers of an input of an operator: elements with inner times."""
    return {
        (tuple(dyre.elements[number] for number in row), time): weight
        for *row, time, weight in past.trace.batch().tolist()
    }


@indexes
@pytest.mark.parametrize("seed", range(8))
def test_figures_2_and_3_are_figure_1(seed: int, indexed: bool) -> None:
    story, dyre = Story(seed), Dyre(indexed=indexed)
    moves = [story.next() for _ in range(10)]
    rules = [Weighted(dict.fromkeys(come, 1) | dict.fromkeys(gone, -1)) for _, come, gone in moves]
    facts = [Weighted(change) for change, _, _ in moves]
    figure = interpreted(Stream.of(WEIGHTED, rules), Stream.of(WEIGHTED, facts))
    for t, each in enumerate(moves):
        assert move(dyre, *each) == figure[t]


@pytest.mark.sampled(1)
@indexes
@settings(max_examples=60, deadline=None)
@given(histories())
def test_the_interpreter_is_the_circuit_stage_by_stage(indexed: bool, moves: list[Move]) -> None:
    """With the paper's rounds and with those of the algorithm, after every step."""
    dyre = Dyre(indexed=indexed)
    papers, ours = (Interpreter(Plain(), indexed=indexed, pause=pause) for pause in (1, 0))
    rules: list[Rule] = []
    for each in moves:
        rules = [rule for rule in rules if rule not in each.gone] + each.come
        change = move(dyre, each.facts, each.come, each.gone)
        assert step(papers, each.facts, each.come, each.gone) == change
        assert step(ours, each.facts, each.come, each.gone) == change
        rounds = not shares_sums(rules)
        for circuit, timed in ((papers, rounds), (ours, False)):
            assert rewrites_of(circuit, rules, timed) == projected(dyre, rules, circuit, timed)
            for what, past in (("facts", dyre.facts.outputs), ("inputs", dyre.facts.inputs)):
                mine = {(g, time): w for ((g,), time), w in kept(dyre, past).items()}
                theirs = tables(circuit, what)
                # Sums of derivations count each path, of which rules share some.
                only = what == "inputs"
                assert plain(mine, timed, only) == plain(theirs, timed, only), what
        if indexed:
            assert index_of(dyre) == index_by(papers) == index_by(ours)


def shares_sums(rules: Collection[Rule]) -> bool:
    """Have different paths of atoms one expected provenance, as `a, b` and `b, a` have? The paper's
    circuit then takes both, and a rewrite may come by the one that its own rule does not have."""
    paths = defaultdict(set)
    for rule in rules:
        body = tuple(atoms(rule))
        for j in range(len(body)):
            paths[provenance(body[: j + 1])].add(body[: j + 1])
    return any(len(some) > 1 for some in paths.values())


def plain(some: Timed, timed: bool, only_which: bool = False) -> object:
    """Weights by element and round, without the rounds, or elements without the weights."""
    if not timed:
        sums: Counter[Any] = Counter()
        for (element, _), weight in some.items():
            sums[element] += weight
        some = {(element, 0): weight for element, weight in sums.items() if weight}
    assert all(weight > 0 for weight in some.values())
    return set(some) if only_which else some


def tables(circuit: Interpreter, what: str) -> Timed:
    return {
        ((name, tuple(row)), time): weight
        for name, table in circuit.tables.items()
        for *row, time, weight in getattr(table, what).batch().tolist()
    }


def nodes(circuit: Interpreter, rule: Rule) -> list[PathNode]:
    """The nodes that a rule's path goes through."""
    node, found = circuit._root(0), []
    for stage in circuit._grounding_kits[rule].directions:
        node = node.children[stage]
        found.append(node)
    return found


def rewrites_of(circuit: Interpreter, rules: Iterable[Rule], timed: bool) -> list[object]:
    """The rewrites after each atom of each rule, where the interpreter keeps them."""
    return [
        plain(
            {(tuple(row), time): weight for *row, time, weight in node.trace.batch().tolist()},
            timed,
        )
        for rule in rules
        for node in nodes(circuit, rule)
        if node.trace is not None
    ]


def projected(dyre: Dyre, rules: Iterable[Rule], circuit: Interpreter, timed: bool) -> list[object]:
    """The same of the paper's circuit, of the variables that later atoms and the head need."""
    known = kept(dyre, dyre.rewrites.outputs)
    found = []
    for rule in rules:
        body = atoms(rule)
        for j, node in enumerate(nodes(circuit, rule)):
            if node.trace is None:
                continue
            N, later = provenance(body[: j + 1]), named(rule.head, *body[j + 1 :])
            needed = [name for name in named(*body[: j + 1]) if name in later]
            sums: Counter[tuple[Any, int]] = Counter()
            for ((at, rewrite), time), weight in known.items():
                if at == N:
                    values = dict(rewrite)
                    sums[tuple(values[name] for name in needed), time] += weight
            found.append(plain(dict(sums), timed))
    return found


def named(*some: Literal) -> list[str]:
    """Variables in the order of their first use."""
    terms = (term for atom in some for term in atom.terms)
    return list(dict.fromkeys(term.name for term in terms if isinstance(term, Variable)))


def index_of(dyre: Dyre) -> set[object]:
    return {element for element, _ in kept(dyre, dyre.product.right)}


def index_by(circuit: Interpreter) -> set[object]:
    return {
        ((name, tuple((c, row[c]) for c in columns)), (name, tuple(row)))
        for name, table in circuit.tables.items()
        for columns in table.facts.indexes
        for *row, _, _ in table.facts.batch().tolist()
    }


@pytest.mark.parametrize("seed", range(4))
def test_what_comes_and_goes_leaves_nothing(seed: int) -> None:
    story, dyre = Story(seed), Dyre()
    for _ in range(8):
        move(dyre, *story.next())
    move(dyre, dict.fromkeys(story.facts, -1), [], story.rules)
    pasts = (
        *(dyre.gatekeep.left, dyre.gatekeep.right, dyre.product.left, dyre.product.right),
        *(dyre.ground.left, dyre.ground.right, dyre.index.left, dyre.index.right),
        *(dyre.facts.inputs, dyre.facts.outputs),
    )
    left = [kept(dyre, past) for past in pasts]
    assert left[0] == {((provenance(()), NOTHING), 1): 1}
    assert all(not some for some in left[1:])


def test_a_rule_without_a_body_is_a_fact() -> None:
    first, second = rules_of(DECLARED + "u(1) :- true. p(x, x) :- u(x).")
    dyre = Dyre()
    assert move(dyre, {}, [first, second], []) == {("u", (1,)): 1, ("p", (1, 1)): 1}
    assert move(dyre, {("u", (1,)): 1}, [], [first]) == {}
    assert move(dyre, {("u", (1,)): -1}, [], []) == {("u", (1,)): -1, ("p", (1, 1)): -1}


def test_the_index_finds_pairs_that_unify() -> None:
    """Without it, every rewrite is held against all facts of the predicate."""
    chain = {("e", (i, i + 1)): 1 for i in range(20)}
    pairs = []
    for indexed in (True, False):
        dyre = Dyre(indexed=indexed)
        move(dyre, chain, RULES[:2], [])
        pairs.append(dyre.product.pairs)
    edges, paths = 20, 20 * 21 // 2
    assert pairs == [edges + (paths - edges), edges + edges * paths]


def test_paths_with_one_sum_share_their_rewrites() -> None:
    """`p(x, y), e(y, z)` and `e(y, z), p(x, y)` have one expected provenance: a rewrite comes by
    the path that is faster. The interpreter numbers paths, so that each rule takes its own."""
    rules = rules_of(
        DECLARED
        + """
        p(x, y) :- e(x, y).
        p(x, z) :- p(x, y), p(y, z).
        q(x, z) :- p(x, y), f(y, z).
        n() :- f(y, z), p(x, y).
        """
    )
    assert shares_sums(rules)
    facts = {("e", (i, i + 1)): 1 for i in range(8)} | {("f", (8, 0)): 1}
    dyre, papers = Dyre(), Interpreter(Plain(), pause=1)
    assert move(dyre, facts, rules, []) == step(papers, facts, rules)
    (mine,) = (time for ((g,), time) in kept(dyre, dyre.facts.outputs) if g == ("q", (0, 0)))
    (theirs,) = (time for (g, time) in tables(papers, "facts") if g == ("q", (0, 0)))
    assert mine == theirs - 1

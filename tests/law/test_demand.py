"""The law of demand: a question answered by demand has the answer that it has otherwise."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from tests.law.generate import CONSTANTS, from_seed, spelled
from tidelog import Database
from tidelog.control.limits import Limits
from tidelog.program.diagnostics import EvaluationError, TidelogError
from tidelog.program.rules import Relation
from tidelog.transaction.core import Options

SEEDS = 20
ASKED_OF_EACH = 5


def questions(relation: Relation, rows: list[tuple[object, ...]], random: Random) -> list[str]:
    """One for every way of binding columns, with values of a fact or others."""
    found = []
    for bound in product((True, False), repeat=min(relation.arity, 3)):
        marks = (*bound, *[False] * (relation.arity - len(bound)))
        row = random.choice(rows) if rows and random.random() < 0.8 else None
        terms = [
            f"v{i}" if not marks[i] else spelled(row[i] if row else random.choice(CONSTANTS[kind]))
            for i, kind in enumerate(relation.kinds)
        ]
        found.append(f"{relation.name}({', '.join(terms)})")
    return found


def test_answers_are_the_same() -> None:
    asked = 0
    for seed in range(SEEDS):
        program, random = from_seed(seed), Random(seed)
        database = Database(program.text, facts=program.facts)
        before = {name: set(database.relation(name)) for name in database.relations}
        possible = [
            question
            for relation in program.relations
            if relation.group
            for question in questions(
                database.schema[relation.name], sorted(before[relation.name]), random
            )
        ]
        for question in random.sample(possible, min(ASKED_OF_EACH, len(possible))):
            found = database.query(question, demand=True)
            assert found == database.query(question), f"seed {seed}: {question}\n{program}"
            asked += bool(found)
        after = {name: set(database.relation(name)) for name in database.relations}
        assert after == before, f"seed {seed}"
    assert asked > SEEDS


GRAPH = [(i, i + 1) for i in range(8)] + [(3, 1), (6, 2), (20, 21), (21, 20), (30, 30)]
CLOSURES = {
    "left": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).",
    "right": "p(x, y) :- e(x, y). p(x, z) :- e(x, y), p(y, z).",
    "both": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z). p(x, z) :- e(x, y), p(y, z).",
    "square": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).",
    "square with facts": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z). p(8, 20). p(30, 0).",
    "right with facts": "p(x, y) :- e(x, y). p(x, z) :- e(x, y), p(y, z). p(8, 20). p(30, 0).",
    "left with others": (
        "p(x, x) :- e(x, _). p(x, z) :- p(x, y), e(y, z). p(x, y) :- p(y, x), y > 5."
    ),
    "right over another": (
        "p(x, y) :- f(x, y). p(x, z) :- e(x, y), p(y, z). f(5, 99). f(y, x) :- e(x, y)."
    ),
    "swapped": "p(y, x) :- e(x, y). p(x, z) :- p(y, z), e(y, x).",
    "symmetric": "p(x, y) :- e(x, y). p(x, y) :- p(y, x). p(x, z) :- p(x, y), p(y, z).",
    "eqrel": ".decl p(x: number, y: number) eqrel\np(x, y) :- e(x, y). p(1, 30).",
    "transitive": ".decl p(x: number, y: number) transitive\np(x, y) :- e(x, y), y != 4.",
}
ASKED = ("p(1, y)", "p(x, 1)", "p(1, 4)", "p(4, 99)", "p(x, y)", "p(x, x)", "p(30, y), p(y, z)")


@pytest.mark.parametrize("name", CLOSURES)
def test_closures(name: str) -> None:
    database = Database(CLOSURES[name], facts={"e": GRAPH}, lazy=True)
    found = [database.query(question, demand=True) for question in ASKED]
    assert found == [database.query(question) for question in ASKED]


@pytest.mark.parametrize("name", ["left", "right", "both", "square", "eqrel", "transitive"])
def test_a_bound_end_is_a_search(name: str) -> None:
    """Of a chain, whose closure has 11,325 facts, some for each node are derived."""
    chain = [(i, i + 1) for i in range(150)]
    limits = Limits(max_facts=12 * len(chain))
    text = CLOSURES[name].replace("y != 4", "y != 500").replace("p(1, 30)", "p(1, 1)")
    database = Database(text, facts={"e": chain}, lazy=True, limits=limits)
    assert len(database.query("p(3, x)", demand=True)) == (151 if name == "eqrel" else 147)
    assert len(database.query("p(x, 149)", demand=True)) == (151 if name == "eqrel" else 149)
    assert database.query("p(5, 120)", demand=True) == [()]
    with pytest.raises(TidelogError, match="stopped at more than 1,800 facts"):
        database.query("p(x, y)")
    with pytest.raises(TidelogError, match="stopped at more than 1,800 facts"):
        database.query("p(x, y)", demand=True)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        # What is negated is asked for by values, unless a cycle would go through the negation.
        (
            "r(x) :- s(x). r(y) :- r(x), e(x, y), !b(y). b(x) :- f(x, _). f(x, y) :- e(x, y), x > 5"
            ". s(1).",
            "r(4)",
        ),
        (
            "r(x) :- s(x). r(y) :- r(x), e(x, y), !b(x). b(x) :- c(x, x). c(x, y) :- e(x, y). "
            "c(x, z) :- c(x, y), c(y, z). s(1).",
            "r(x), x < 3",
        ),
        # An aggregate, by its group and over a closure.
        (
            "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z). n(x, c) :- e(x, _), c = count : "
            "{ p(x, _) }.",
            "n(4, c)",
        ),
        (
            "d(x, 0) :- s(x). d(y, n + 1) :- d(x, n), e(x, y), n < 9. s(1). m(x, k) :- e(_, x), k"
            " = min n : { d(x, n) }.",
            "m(5, k)",
        ),
        # Values that are computed from what is asked for do not run away.
        ("f(0, 1). f(n, a * n) :- num(n), f(n - 1, a). num(x) :- e(x, _).", "f(4, v)"),
        ("u(n) :- n = m + 1, u(m), e(m, _). u(1).", "u(3)"),
        ("g(x, y) :- e(x, y). g(x, y) :- g(x + 0, z), e(z, y), x = z - 1.", "g(2, y)"),
        # A part that could fail is not asked before what excludes it.
        (
            "q(x, 10 / x) :- e(x, _), x > 0. q(x, y) :- q(w, y), t(w, x). t(x, y) :- e(x, y).",
            "q(5, y)",
        ),
        (
            "h(x, z) :- e(x, y), k(10 / y, z), y != 0. k(a, b) :- e(b, a). k(a, b) :- k(b, a).",
            "h(1, z)",
        ),
        ('s("a"). s(cat(x, "b")) :- s(x), strlen(x) < 4. w(x) :- s(x).', 'w("abb")'),
        ("p(x, y) :- e(x, y). q(y) :- p(1, y). q(y) :- q(x), p(x, y), x < 5.", "q(4)"),
        ("z(x) :- e(x, _), x = range(2, 5).", "z(3)"),
        ("flag() :- e(1, _). w(x) :- flag(), e(x, 2).", "w(1)"),
        ("w(x) :- e(x, _).", "w(x), !w(99), 3 < x, n = count : { w(y), y < x }"),
        ("w(x) :- e(x, _).", "true"),
        ("w(x) :- e(x, _).", "w(x) ; x = 77, w(1)"),
    ],
)
def test_constructs(text: str, question: str) -> None:
    facts = {"e": GRAPH}
    database = Database(text, facts=facts, lazy=True, limits=Limits(max_seconds=300))
    found = database.query(question, demand=True)
    assert found == database.query(question)
    assert found


def test_an_error_leaves_the_database_as_it_was() -> None:
    database = Database("p(x) :- e(x, _). q(6 / y) :- e(_, y).", facts={"e": [(1, 0)]}, lazy=True)
    with pytest.raises(EvaluationError, match="division by zero"):
        database.query("q(x)", demand=True)
    with pytest.raises(TidelogError, match=r"<query>:1:1: error: .*nothing"):
        database.query("nothing(x)", demand=True)
    assert database.query("p(x)", demand=True) == [(1,)]


def test_rules_and_facts_that_change() -> None:
    database = Database(CLOSURES["square"], facts={"e": [(1, 2), (2, 3)]}, lazy=True)
    assert database.query("p(1, x)", demand=True) == [(2,), (3,)]
    database.apply("+e(3, 4). +p(x, 0) :- e(x, _). -e(1, 2). +p(1, 3). commit.")
    for question in ("p(1, x)", "p(x, 0)", "p(x, 4), x != 2"):
        assert database.query(question, demand=True) == database.query(question)


def test_a_lazy_database_that_met_a_limit_derives_all_later() -> None:
    chain = [(i, i + 1) for i in range(60)]
    database = Database(
        CLOSURES["square"], facts={"e": chain}, lazy=True, limits=Limits(max_facts=900)
    )
    with pytest.raises(TidelogError, match="more than 900 facts"):
        database.size("p")
    assert len(database.query("p(9, x)", demand=True)) == 51
    database._evaluation.options = Options()
    assert database.size("p") == 60 * 61 // 2


def test_what_depends_on_all_that_is_derived_is_derived_in_full() -> None:
    text = """
        .decl d(x: number, n: number)
        d(1, 0). d(y, n + 1) :- d(x, n), e(x, y), n < 20.
        d(x, m) <= d(x, n) :- n < m.
        .decl one(x: number, y: number) choice-domain x
        one(x, y) :- e(x, y).
        .decl numbered(x: number, i: number)
        numbered(x, autoinc()) :- e(x, _).
        p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).
    """
    database = Database(text, facts={"e": GRAPH}, lazy=True)
    assert database.query("p(6, x)", demand=True)
    assert database._evaluation.pending, "these were not needed"
    for question in ("d(5, n)", "one(3, y)", "numbered(4, i)", "p(6, x), one(x, y)"):
        found = database.query(question, demand=True)
        assert found == database.query(question)
        assert found

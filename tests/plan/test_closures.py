"""Closure modules: which rules form one, and that they mean what their kind says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tests.law.metamorphic import permute_bodies, rename_variables, variant
from tidelog.oracle import evaluate
from tidelog.plan import analyse
from tidelog.plan.closures import Chain, Closure, Modules, chain, feed, modules, paired
from tidelog.plan.rulebook import Rulebook
from tidelog.program.rules import CheckedProgram
from tidelog.text import parse

STREAMS = Path(__file__).parent.parent.parent / "bench" / "streams"
DECLARED = """
.decl r(x: number, y: number)
.decl s(x: number, y: number)
.decl b(x: number, y: number)
.decl c(x: number, y: number)
.decl n(x: number)
"""
TRANSITIVE = "r(x, z) :- r(x, y), r(y, z)."
SYMMETRIC = "r(x, y) :- r(y, x)."


def checked(text: str) -> CheckedProgram:
    analysis = analyse(parse(text).program)
    assert analysis.checked is not None, analysis.diagnostics
    return analysis.checked


def of_relation(text: str, name: str = "r") -> Modules:
    """The modules of the relation's stratum."""
    strata = checked(text if ".decl" in text else DECLARED + text).strata
    (stratum,) = (s for s in strata if name in s.relations)
    found = modules(stratum)
    # Every recursive rule is in one module, and in one only.
    parts = [rule for closure in found.closures for rule in closure.rules] + [*found.generic]
    assert Counter(map(id, parts)) == Counter(map(id, stratum.recursive))
    return found


def shown(text: str) -> list[str]:
    return [str(closure) for closure in of_relation(text).closures]


# What is a closure.


@pytest.mark.parametrize(
    "rule",
    [
        TRANSITIVE,
        "r(x, z) :- r(y, z), r(x, y).",
        "r(z, x) :- r(z, y), r(y, x).",
        "r(a, b) :- r(c, b), r(a, c).",
        "r(x, z) :- r(x, y), r(y, z), r(x, y).",
    ],
)
def test_transitive_in_any_naming_and_order(rule: str) -> None:
    found = of_relation(rule)
    (closure,) = found.closures
    assert (closure.kind, closure.relation, closure.base) == ("transitive", "r", None)
    assert [r.text for r in closure.rules] == [rule]
    assert found.generic == ()


@pytest.mark.parametrize("rule", [SYMMETRIC, "r(b, a) :- r(a, b).", "r(y, x) :- r(x, y)."])
def test_symmetric_and_transitive(rule: str) -> None:
    assert shown(rule + TRANSITIVE) == ["symmetric-transitive r"]
    assert shown(TRANSITIVE + rule) == ["symmetric-transitive r"]
    assert shown(rule) == []


@pytest.mark.parametrize(
    "rule",
    [
        "r(x, z) :- r(x, y), r(z, y).",
        "r(x, z) :- r(y, x), r(y, z).",
        "r(z, x) :- r(x, y), r(y, z).",
    ],
)
def test_with_symmetry_atoms_may_stand_either_way_round(rule: str) -> None:
    assert shown(SYMMETRIC + rule) == ["symmetric-transitive r"]
    assert shown(rule) == []


def test_qualifiers() -> None:
    same = of_relation(".decl r(x: number, y: number) eqrel\nr(1, 2).")
    assert [(c.kind, len(c.rules)) for c in same.closures] == [("symmetric-transitive", 4)]
    assert same.generic == ()
    below = of_relation(".decl r(x: symbol, y: symbol) transitive\n")
    assert [(c.kind, len(c.rules)) for c in below.closures] == [("transitive", 1)]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("r(x, z) :- r(x, y), b(y, z).", Closure("left-linear", "r", (), "b")),
        ("r(a, c) :- b(d, c), r(a, d).", Closure("left-linear", "r", (), "b")),
        ("r(x, z) :- r(x, y), b(z, y).", Closure("left-linear", "r", (), "b", swapped=True)),
        ("r(x, z) :- b(x, y), r(y, z).", Closure("right-linear", "r", (), "b")),
        ("r(x, z) :- r(y, z), b(x, y).", Closure("right-linear", "r", (), "b")),
        ("r(x, z) :- b(y, x), r(y, z).", Closure("right-linear", "r", (), "b", swapped=True)),
    ],
)
def test_linear(rule: str, expected: Closure) -> None:
    (closure,) = of_relation(rule).closures
    assert [r.text for r in closure.rules] == [rule]
    assert (closure.kind, closure.base, closure.swapped, closure.whole) == (
        expected.kind,
        expected.base,
        expected.swapped,
        False,
    )


@pytest.mark.parametrize(
    ("others", "whole"),
    [
        ("r(x, y) :- b(x, y).", True),
        ("r(v, w) :- b(v, w). r(x, y) :- b(x, y).", True),
        ("", False),
        ("r(x, y) :- b(y, x).", False),
        ("r(x, y) :- c(x, y).", False),
        ("r(x, y) :- b(x, y). r(x, y) :- c(x, y).", False),
        ("r(x, y) :- b(x, y), x < y.", False),
        ("r(x, y) :- b(x, y). r(x, z) :- r(x, y), c(y, z).", False),
        ("r(x, y) :- b(x, y). r(x, y) :- r(y, x).", False),
        ("r(x, y) :- b(x, y). r(x, y) :- s(x, y). s(x, y) :- r(x, y).", False),
    ],
)
def test_a_linear_relation_may_be_the_closure_of_its_base(others: str, whole: bool) -> None:
    found = of_relation(others + "r(x, z) :- r(x, y), b(y, z).").closures
    (closure,) = (c for c in found if c.base == "b")
    assert closure.whole is whole


def test_a_swapped_base_may_be_copied_swapped() -> None:
    (closure,) = of_relation("r(x, y) :- b(y, x). r(x, z) :- b(y, x), r(y, z).").closures
    assert (closure.kind, closure.swapped, closure.whole) == ("right-linear", True, True)


def test_columns_of_a_linear_relation_may_differ_in_type() -> None:
    text = ".decl r(x: symbol, y: number)\n.decl b(x: number, y: number)\n"
    assert shown(text + "r(x, z) :- r(x, y), b(y, z).") == ["left-linear r over b"]


def test_bases_and_sides_are_modules_of_their_own() -> None:
    text = (
        "r(x, z) :- r(x, y), b(y, z). r(x, z) :- r(x, y), c(y, z). r(x, z) :- b(x, y), r(y, z)."
        "r(v, w) :- r(v, u), b(u, w)."
    )
    found = of_relation(text).closures
    assert [(str(c), len(c.rules)) for c in found] == [
        ("left-linear r over b", 2),
        ("left-linear r over c", 1),
        ("right-linear r over b", 1),
    ]


# What is none.


@pytest.mark.parametrize(
    "rule",
    [
        "r(x, x) :- r(x, y), r(y, x).",
        "r(x, z) :- r(x, x), r(x, z).",
        "r(x, y) :- r(x, y), r(y, y).",
        "r(z, x) :- r(x, y), r(y, z).",
        "r(x, z) :- r(x, y), r(z, y).",
        "r(x, z) :- r(x, _), r(_, z).",
        "r(x, w) :- r(x, y), r(y, z), r(z, w).",
        "r(x, z) :- r(x, y), r(y, z), n(y).",
        "r(x, z) :- r(x, y), r(y, z), x != z.",
        "r(x, z) :- r(x, y), r(y, z), !b(x, z).",
        "r(x, z) :- r(x, y), r(y, z), 0 < count : { b(x, _) }.",
        "r(x, 1) :- r(x, y), r(y, 1).",
        "r(x, z + 1) :- r(x, y), r(y, z), z < 9.",
        "r(x, x) :- r(x, _).",
        "r(x, y) :- r(x, y).",
        "r(x, x) :- r(x, y), b(y, x).",
        "r(x, x) :- b(z, y), r(x, y).",
        "r(x, z) :- r(x, y), b(y, z), n(x).",
        "r(x, z) :- r(x, y), b(y, z), x < z.",
        "r(x, z) :- r(x, 1), b(1, z).",
        "r(x, z) :- r(y, x), b(y, z).",
        "r(x, z) :- r(y, z), b(x, _).",
        "r(x, y) :- r(x, y), b(x, y).",
        "r(x, z) :- r(x, y), s(y, z). s(x, y) :- r(x, y), b(x, y).",
    ],
)
def test_other_rules_are_generic(rule: str) -> None:
    found = of_relation(rule)
    assert found.closures == ()
    assert found.generic


def test_other_columns() -> None:
    text = ".decl p(x: number, y: number, z: number)\n.decl q(x: number)\n"
    rules = "p(x, z, k) :- p(x, y, k), p(y, z, k). q(x) :- q(x)."
    for stratum in checked(text + rules).strata:
        assert modules(stratum).closures == ()
        assert len(modules(stratum).generic) == 1


# In the midst of others.


def test_duplicates_belong_to_the_module() -> None:
    (closure,) = of_relation(TRANSITIVE + "r(a, c) :- r(b, c), r(a, b).").closures
    assert len(closure.rules) == 2


@pytest.mark.parametrize(
    "rule",
    [
        "r(x, w) :- r(x, y), r(y, z), r(z, w).",
        "r(x, x) :- r(x, y), r(y, x).",
        "r(x, z) :- r(x, y), r(y, z), r(z, w).",
        "r(x, y) :- r(x, y).",
    ],
)
def test_what_follows_from_a_module_belongs_to_it(rule: str) -> None:
    assert of_relation(TRANSITIVE + rule).generic == ()
    assert of_relation(SYMMETRIC + TRANSITIVE + rule).generic == ()


@pytest.mark.parametrize("rule", ["r(x, x) :- r(x, _).", "r(x, z) :- r(x, y), r(z, y)."])
def test_what_follows_with_symmetry_only(rule: str) -> None:
    assert [r.text for r in of_relation(TRANSITIVE + rule).generic] == [rule]
    assert of_relation(SYMMETRIC + TRANSITIVE + rule).generic == ()


def test_any_other_rules() -> None:
    text = (
        "r(x, y) :- b(x, y). r(x, z) :- r(x, y), b(y, z). r(x, y) :- s(x, y), x < y."
        "s(x, z) :- s(y, z), s(x, y). s(x, y) :- r(y, x). s(x, y) :- s(x, y), n(x)." + TRANSITIVE
    )
    found = of_relation(text)
    assert [str(closure) for closure in found.closures] == ["transitive r", "transitive s"]
    assert [rule.text for rule in found.generic] == [
        # A transitive relation takes what a linear rule gives as it takes all else.
        "r(x, z) :- r(x, y), b(y, z).",
        "r(x, y) :- s(x, y), x < y.",
        "s(x, y) :- r(y, x).",
        "s(x, y) :- s(x, y), n(x).",
    ]


def test_alternatives_are_rules_of_their_own() -> None:
    text = "r(x, z) :- r(x, y), (r(y, z) ; b(y, z))."
    found = of_relation(text)
    assert [str(closure) for closure in found.closures] == ["transitive r"]
    assert len(found.generic) == 1


def test_a_stratum_without_recursion_has_no_modules() -> None:
    assert of_relation("r(x, y) :- b(x, y). r(x, z) :- b(x, y), b(y, z).") == Modules((), ())


WITH_ITS_INVERSE = "transitive r with its inverse s"
INVERSE = ("s(y, x) :- r(x, y).", "r(b, a) :- s(a, b).")


def as_pairs(*rules: str) -> list[str]:
    strata = checked(DECLARED + "\n".join(rules)).strata
    stratum = next(stratum for stratum in strata if "r" in stratum.relations)
    found = paired(stratum)
    parts = [*found.generic, *(rule for closure in found.closures for rule in closure.rules)]
    assert Counter(map(id, parts)) == Counter(map(id, stratum.recursive))
    return [str(closure) for closure in found.closures]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([TRANSITIVE], WITH_ITS_INVERSE),
        (["s(x, z) :- s(x, y), s(y, z)."], "transitive s with its inverse r"),
        ([TRANSITIVE, "r(x, y) :- b(x, y).", "s(x, y) :- b(x, y)."], WITH_ITS_INVERSE),
        ([TRANSITIVE, "s(x, y) :- s(x, y), b(x, y)."], "transitive r"),
        ([TRANSITIVE, "s(x, y) :- r(x, y)."], "transitive r"),
        ([TRANSITIVE, SYMMETRIC], "symmetric-transitive r"),
    ],
)
def test_a_relation_and_its_inverse_are_one_closure(rules: list[str], expected: str) -> None:
    (found,) = as_pairs(*rules, *INVERSE)
    assert found == expected
    assert as_pairs(*INVERSE, *reversed(rules)) == [found]


def test_both_may_be_transitive() -> None:
    (found,) = as_pairs(TRANSITIVE, "s(x, z) :- s(y, z), s(x, y).", *INVERSE)
    assert found == WITH_ITS_INVERSE


@pytest.mark.parametrize("rule", INVERSE)
def test_an_inverse_must_lead_both_ways(rule: str) -> None:
    assert as_pairs(TRANSITIVE, rule) == ["transitive r"]


CLOSED = "r(x, z) :- r(x, y), r(y, z). r(x, y) :- r(y, x)."
CHAINED = """
.decl e(x: number, y: number)
.decl s(x: number, y: number)
.decl r(x: number, y: number)
"""


@pytest.mark.parametrize(
    ("body", "steps"),
    [
        ("e(x, y)", (("e", False),)),
        ("e(u, y), e(u, x)", (("e", True), ("e", False))),
        ("e(v, y), e(x, u), s(v, u)", (("e", False), ("s", True), ("e", False))),
        ("e(x, u), e(u, y), e(x, u)", (("e", False), ("e", False))),
        ("e(x, u), e(u, y), e(u, v)", None),
        ("e(x, u), e(u, y), e(x, y)", None),
        ("e(x, u), e(u, y), u < 3", None),
        ("e(x, u), e(u, y), !e(y, x)", None),
        ("e(x, 1), e(1, y)", None),
        ("e(x, _), e(_, y)", None),
        ("e(x, x), e(x, y)", None),
        ("e(x, u), e(v, y)", None),
    ],
)
def test_chains(body: str, steps: Chain | None) -> None:
    program = checked(CHAINED + f"r(x, y) :- {body}.")
    (rule,) = (r for r in program.rules if r.head.relation == "r")
    assert chain(rule) == steps


def test_what_feeds_a_closure() -> None:
    fed = of_feed("r(x, z) :- e(x, y), s(z, y). r(x, y) :- e(x, y). " + CLOSED)
    assert fed == ([(("e", False), ("s", True))], ["r(x, y) :- e(x, y)."])
    assert of_feed("r(x, y) :- e(x, y). " + CLOSED) is None
    assert of_feed("r(x, z) :- e(x, y), s(z, y). r(x, z) :- r(x, y), r(y, z).") is None
    others = "r(x, z) :- e(x, y), s(z, y). r(x, z) :- r(x, y), e(y, z). "
    assert of_feed(others + CLOSED) is None


def of_feed(text: str) -> tuple[list[Chain], list[str]] | None:
    (stratum,) = (s for s in checked(CHAINED + text).strata if "r" in s.relations)
    fed = feed(stratum)
    return None if fed is None else ([*fed.chains], [rule.text for rule in fed.others])


def test_rules_that_come_and_go_form_and_dissolve_modules() -> None:
    program = parse(DECLARED + "r(x, y) :- b(x, y).").program
    analysis = analyse(program)
    assert analysis.typed is not None
    assert analysis.checked is not None
    book = Rulebook.of(analysis.typed, analysis.checked)

    def now() -> list[str]:
        stratum = book.strata[book.stratum_of["r"]]
        return [str(closure) for closure in modules(stratum).closures]

    (transitive,) = parse(TRANSITIVE).program.clauses
    (symmetric,) = parse(SYMMETRIC).program.clauses
    assert now() == []
    book, name, _ = book.plus(transitive)
    assert now() == ["transitive r"]
    book, _, _ = book.plus(symmetric)
    assert now() == ["symmetric-transitive r"]
    book, _ = book.without([name])
    assert now() == []


@pytest.mark.parametrize(
    ("name", "nonrecursive", "recursive", "transitive", "symmetric"),
    [("lubm", 85, 22, 1, 2), ("claros", 1031, 306, 27, 2)],
)
def test_the_programs_of_the_paper(
    name: str, nonrecursive: int, recursive: int, transitive: int, symmetric: int
) -> None:
    """Hu et al. (2019), table 1: numbers of rules and of modules of LUBM-LE and Claros-LE."""
    strata = checked((STREAMS / name / f"{name}.dl").read_text(encoding="utf-8")).strata
    kinds = Counter(c.kind for stratum in strata for c in modules(stratum).closures)
    assert sum(len(stratum.nonrecursive) for stratum in strata) == nonrecursive
    assert sum(len(stratum.recursive) for stratum in strata) == recursive
    assert kinds == {"transitive": transitive, "symmetric-transitive": symmetric}


# What they mean.

Pairs = set[tuple[int, int]]


def composed(a: Pairs, b: Pairs) -> Pairs:
    return {(x, z) for x, y in a for v, z in b if y == v}


def ways(edges: Pairs) -> Pairs:
    """Pairs with a way of one or more edges."""
    found = N = edges
    while N:
        N = composed(N, edges) - found
        found = found | N
    return found


def within_components(edges: Pairs) -> Pairs:
    """All pairs of nodes of a component, by merging sets."""
    parts: list[set[int]] = []
    for edge in edges:
        touched = [part for part in parts if part & {*edge}]
        parts = [part for part in parts if part not in touched]
        parts.append({*edge}.union(*touched))
    return {(x, y) for part in parts for x in part for y in part}


def meaning(closure: Closure, X: Pairs, B: Pairs) -> Pairs:
    if closure.swapped:
        B = {(y, x) for x, y in B}
    match closure.kind:
        case "transitive":
            return ways(X)
        case "symmetric-transitive":
            return within_components(X)
        case "left-linear":
            return X | composed(X, ways(B))
        case "right-linear":
            return X | composed(ways(B), X)


def random_rule(rng: random.Random) -> str:
    """A rule over r and b, and a base for it; most are no closures."""
    names = rng.sample("uvwxyz", 4)
    atoms = [
        f"{rng.choice('rrrb')}({rng.choice(names)}, {rng.choice([*names, '_'])})"
        for _ in range(rng.randint(1, 3))
    ]
    bound = [name for name in names if any(name in atom for atom in atoms)]
    return f"r({rng.choice(bound)}, {rng.choice(bound)}) :- {', '.join(atoms)}."


def random_pairs(rng: random.Random) -> Pairs:
    return {(rng.randrange(6), rng.randrange(6)) for _ in range(rng.randint(1, 6))}


def evaluated(rules: Sequence[str], X: Pairs, B: Pairs) -> Pairs:
    typed = analyse(parse(DECLARED + "\n".join(rules)).program).typed
    assert typed is not None
    return evaluate.evaluate(typed, {"r": X, "b": B})["r"]  # type: ignore[dict-item, return-value]


KNOWN = (
    TRANSITIVE,
    SYMMETRIC,
    "r(x, z) :- r(x, y), b(y, z).",
    "r(x, z) :- b(y, x), r(y, z).",
    "r(x, z) :- r(x, y), b(z, y).",
    "r(x, z) :- r(x, y), r(z, y).",
)


@pytest.mark.parametrize("seed", range(150))
def test_rules_of_a_module_mean_what_its_kind_says(seed: int) -> None:
    rng = random.Random(seed)
    rules = [random_rule(rng) for _ in range(rng.randint(0, 6))]
    rules += rng.sample(KNOWN, rng.randint(1, 3))
    rng.shuffle(rules)
    text = DECLARED + "\n".join(rules)
    for closure in of_relation(text).closures:
        X, B = random_pairs(rng), random_pairs(rng)
        own = [rule.text for rule in closure.rules]
        assert evaluated(own, X, B) == meaning(closure, X, B), own
    # Nor do names and order matter.
    for change in (rename_variables, permute_bodies):
        other = variant(change, text, {}, random.Random(seed)).text
        assert shown(other) == shown(text)


def test_eqrel_is_symmetric_and_transitive() -> None:
    rng = random.Random(1)
    typed = analyse(parse(".decl r(x: number, y: number) eqrel").program).typed
    assert typed is not None
    for _ in range(20):
        X = random_pairs(rng)
        assert evaluate.evaluate(typed, {"r": X})["r"] == within_components(X)  # type: ignore[dict-item]


def test_a_relation_that_is_the_closure_of_its_base() -> None:
    rng = random.Random(2)
    for rule in ("r(x, z) :- r(x, y), b(y, z).", "r(x, z) :- b(x, y), r(y, z)."):
        rules = ["r(x, y) :- b(x, y).", rule]
        assert of_relation("".join(rules)).closures[0].whole
        for _ in range(20):
            B = random_pairs(rng)
            assert evaluated(rules, set(), B) == ways(B)


def test_a_rule_of_very_many_atoms() -> None:
    names = [f"x{i}" for i in range(20_000)]
    atoms = ", ".join(f"r({a}, {b})" for a, b in pairwise(names))
    found = of_relation(TRANSITIVE + f"r(x0, {names[-1]}) :- {atoms}.")
    assert len(found.closures[0].rules) == 2

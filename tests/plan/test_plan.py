"""The analysis: exact findings, exact core forms, and the laws of both."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest

from tests.growth import linear
from tests.law.generate import from_seed
from tests.law.metamorphic import permute_bodies, rename_variables, variant
from tests.plan import core, fixtures
from tidelog.oracle import evaluate
from tidelog.plan import PASSES, Analysis, analyse
from tidelog.plan.rulebook import name_of
from tidelog.plan.strata import strata
from tidelog.program.diagnostics import EvaluationError
from tidelog.program.formula_walk import clause_nodes
from tidelog.program.rules import CheckedProgram, Constraint, Literal, Rule
from tidelog.program.syntax import (
    NOWHERE,
    And,
    Atom,
    Call,
    Clause,
    Comparison,
    Constant,
    Fact,
    Formula,
    Or,
    Program,
    Term,
    Value,
    Variable,
)
from tidelog.text import parse, to_text

ERRORS = fixtures.cases("errors") | fixtures.cases("newcomers")
CORE = fixtures.cases("desugar")
Rows = Mapping[str, set[tuple[Value, ...]]]


@pytest.mark.parametrize("name", ERRORS)
def test_findings(name: str) -> None:
    program, expected = ERRORS[name]
    assert fixtures.findings(program) == expected


@pytest.mark.parametrize("name", CORE)
def test_core_form(name: str) -> None:
    program, expected = CORE[name]
    assert fixtures.core(program) == expected


def analysed(text: str) -> tuple[Program, CheckedProgram]:
    analysis = analyse(parse(text).program)
    assert analysis.typed is not None, analysis.diagnostics
    assert analysis.checked is not None
    return analysis.typed, analysis.checked


def answer(program: Program, facts: Mapping[str, Sequence[tuple[Value, ...]]]) -> Rows | str:
    try:
        rows = evaluate.evaluate(program, facts)
    except EvaluationError:
        return "an error"
    return {name: rows[name] for name in rows if not name.startswith("%")}


@pytest.mark.parametrize("seed", range(25))
def test_core_form_means_what_the_program_means(seed: int) -> None:
    generated = from_seed(seed)
    typed, checked = analysed(generated.text)
    assert answer(core.surface(checked), generated.facts) == answer(typed, generated.facts)


@pytest.mark.parametrize("name", list(CORE))
def test_core_form_of_fixtures_means_the_same(name: str) -> None:
    typed, checked = analysed(CORE[name][0])
    assert answer(core.surface(checked), {}) == answer(typed, {})


@pytest.mark.parametrize("seed", range(40))
def test_strata_look_down(seed: int) -> None:
    checked = analysed(from_seed(seed).text)[1]
    level = {name: i for i, s in enumerate(checked.strata) for name in s.relations}
    names = [name for stratum in checked.strata for name in stratum.relations]
    assert sorted(names) == sorted(checked.relations)
    for i, stratum in enumerate(checked.strata):
        for rule in stratum.rules:
            assert level[rule.head.relation] == i
            assert all(level[name] < i or not complete for name, complete in rule.reads())
            assert all(level[name] <= i for name, _ in rule.reads())
            recursive = any(level[name] == i for name, _ in rule.reads())
            assert (rule in stratum.recursive) == recursive
    assert sorted(map(repr, checked.rules)) == sorted(
        repr(rule) for stratum in checked.strata for rule in stratum.rules
    )


def each_rule_once(text: str) -> str:
    """Rules that differ only in the names of variables are one rule under the same names."""
    lines: dict[str, str] = {}
    for line in text.splitlines(keepends=True):
        clauses = parse(line).program.clauses
        lines.setdefault(name_of(clauses[0]) if clauses else line, line)
    return "".join(lines.values())


@pytest.mark.parametrize("seed", range(15))
def test_names_of_variables_do_not_matter(seed: int) -> None:
    """Not even for the names of hidden relations."""
    generated = from_seed(seed)
    text = each_rule_once(generated.text)
    before = analysed(text)[1]
    renamed = variant(rename_variables, text, generated.facts, random.Random(seed))
    after = analysed(renamed.text)[1]
    assert list(after.relations) == list(before.relations)
    assert [s.relations for s in after.strata] == [s.relations for s in before.strata]
    assert [rule.head.relation for rule in after.rules] == [r.head.relation for r in before.rules]


@pytest.mark.parametrize("seed", range(15))
def test_order_in_bodies_does_not_matter(seed: int) -> None:
    generated = from_seed(seed)
    before = analysed(generated.text)[1]
    permuted = variant(permute_bodies, generated.text, generated.facts, random.Random(seed))
    after = analysed(permuted.text)[1]
    one, other = (
        {name: r.kinds for name, r in checked.relations.items() if not r.hidden}
        for checked in (before, after)
    )
    assert one == other
    assert answer(core.surface(after), permuted.facts) == answer(
        core.surface(before), generated.facts
    )


def test_every_term_of_a_typed_program_has_a_kind() -> None:
    for seed in range(20):
        for clause in analysed(from_seed(seed).text)[0].clauses:
            for node in clause_nodes(clause):
                assert not isinstance(node, Term) or node.kind is not None


def test_the_result_does_not_depend_on_hashing() -> None:
    valid = [from_seed(seed).text for seed in range(6)]
    faulty = [program for program, _ in ERRORS.values()]
    script = (
        "import json, sys\n"
        "from tests.plan import fixtures\n"
        "valid, faulty = json.load(sys.stdin)\n"
        "for program in valid: print(fixtures.core(program))\n"
        "for program in faulty: print(fixtures.findings(program))\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            input=json.dumps([valid, faulty]),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]


def test_negated_string_tests_keep_their_sign() -> None:
    checked = analysed('q("a"). p(x) :- q(x), !match("a.*", x), !contains("b", x).')[1]
    ops = [part.op for rule in checked.rules for part in rule.body if isinstance(part, Constraint)]
    assert ops == ["!match", "!contains"]
    (rule,) = checked.rules
    assert to_text(rule) == 'p(x) :- q(x), !match("a.*", x), !contains("b", x).'


def test_text_and_place_of_a_rule_are_those_of_its_clause() -> None:
    checked = analysed("q(1).\np(x + 1) :- q(x), (x > 1 ; x < 0).")[1]
    assert {rule.text for rule in checked.rules} == {"p(x + 1) :- q(x), (x > 1; x < 0)."}
    assert {rule.at.line for rule in checked.rules} == {2}


def test_types_of_undeclared_relations_come_from_everywhere() -> None:
    typed, checked = analysed(
        "p(1). p(2). q(x) :- p(x), x < 2.5. r(s, n) :- t(s, n). t(s, strlen(s)) :- u(s). "
        'u(cat(a, a)) :- v(a). v("x").'
    )
    kinds = {name: relation.kinds for name, relation in checked.relations.items()}
    assert kinds == {
        "p": ("float",),
        "v": ("symbol",),
        "q": ("float",),
        "r": ("symbol", "number"),
        "t": ("symbol", "number"),
        "u": ("symbol",),
    }
    assert checked.facts["p"] == [(1.0,), (2.0,)]
    assert all(isinstance(value, float) for fact in typed.facts[:2] for value in fact.values)


def test_an_undeclared_relation_may_be_read_in() -> None:
    _, checked = analysed('.input p\nq(x, cat(y, "!")) :- p(x, y), x > 0.')
    assert checked.relations["p"].kinds == ("number", "symbol")


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (Call("strlne", (Variable("x"),)), "unknown functor strlne"),
        (Call("substr", (Variable("x"),)), "substr takes 3 arguments, but 1 here"),
        (Call("cat", (Variable("x"),)), "cat takes 2 or more arguments, but 1 here"),
    ],
)
def test_functors_built_by_hand(term: Term, message: str) -> None:
    body = And((Atom("q", (Variable("x"),)), Comparison("=", Variable("y"), term)))
    clause = Clause((Atom("p", (Variable("y"),)),), body)
    found = analyse(Program(clauses=(clause,), facts=(Fact("q", ("a",), NOWHERE),))).diagnostics
    assert [finding.message for finding in found] == [message]


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 10**400])
def test_literals_that_are_no_float(value: Value) -> None:
    for program in (
        Program(facts=(Fact("q", (0.5,), NOWHERE), Fact("q", (value,), NOWHERE))),
        Program(
            clauses=(Clause((Atom("q", (Constant(value),)),), And(())),),
            facts=(Fact("q", (0.5,), NOWHERE),),
        ),
    ):
        (found,) = analyse(program).diagnostics
        assert found.message == f"{str(value)[:40]} does not fit a float"


def test_too_many_alternatives_are_refused() -> None:
    choice = "(q(x) ; x > 1)"
    analysis = analyse(parse(f"q(1). p(x) :- q(x), {', '.join([choice] * 14)}.", "t.dl").program)
    (found,) = analysis.diagnostics
    assert found.message == "the alternatives of this clause multiply to more than 10,000"
    assert found.advice == "define a relation for some of them"
    _, checked = analysed(f"q(1). p(x) :- q(x), {', '.join([choice] * 5)}.")
    assert 0 < len(checked.rules) <= 32


def test_of_many_faults_in_facts_some_are_shown() -> None:
    facts = "".join(f"p({i}).\n" for i in range(30)) + 'p("a", "b").\n' * 30
    found = analyse(parse(f".decl p(x: symbol)\n{facts}").program).diagnostics
    assert [f.message for f in found if "more" in f.message] == [
        "10 more values of p do not fit their columns",
        "10 more facts of p have the wrong number of values",
    ]
    assert len(found) == 42


def test_of_very_many_findings_some_are_shown() -> None:
    text = (
        ".decl q(x: number, y: number)\n" + "p(x) :- q(x, y).\n" * 101 + "p(z) :- q(_, _).\n" * 102
    )
    found = analyse(parse(text).program).diagnostics
    assert len(found) == 202
    assert [f.message for f in found[-2:]] == [
        "2 more errors are not shown",
        "1 more warning is not shown",
    ]


def test_siblings_are_masked() -> None:
    """A name that only aggregates use is local to each of them; one that is bound is not."""
    facts = "a(1, 10). a(1, 20). a(2, 30). b(1)."
    typed, checked = analysed(
        f"{facts} r(c, s) :- c = count : {{ a(x, _) }}, s = sum y : {{ a(x, y) }}."
        "o(c, s) :- b(x), c = count : { a(x, _) }, s = sum y : { a(x, y) }."
        "n(c) :- b(_), c = max z : { a(z, _), z < count : { a(x, _) }, 0 < count : { b(x) } }."
    )
    for program in (typed, core.surface(checked)):
        rows = evaluate.evaluate(program)
        assert rows["r"] == {(3, 60)}
        assert rows["o"] == {(2, 30)}
        assert rows["n"] == {(2,)}


def test_a_body_may_need_too_many_alternatives_for_its_witnesses() -> None:
    choice = "(q(x, y) ; q(x, y), y > 1)"
    text = f"q(1, 2). p(x, n) :- n = min y : {{ {', '.join([choice] * 14)} }}."
    (found,) = analyse(parse(text).program).diagnostics
    assert found.message == "the alternatives of this clause multiply to more than 10,000"


def test_nesting_that_no_parser_lets_through() -> None:
    formula: Formula = Atom("q", (Variable("x"),))
    for _ in range(100_000):
        formula = Or((formula,))
    clause = Clause((Atom("p", (Variable("x"),)),), formula)
    analysis = analyse(Program(clauses=(clause,), facts=(Fact("q", (1,), NOWHERE),)))
    assert analysis == Analysis(None, None, analysis.diagnostics)
    assert [found.message for found in analysis.diagnostics] == ["the program nests too deeply"]
    while isinstance(formula, Or):  # or its end would recurse
        (formula,) = formula.parts


def test_many_facts_take_little_time() -> None:
    facts = tuple(Fact("edge", (i, i + 1), NOWHERE) for i in range(100_000))
    checked = linear(lambda n: analyse(Program(facts=facts[:n])).checked, 100_000)
    assert checked is not None
    assert len(checked.facts["edge"]) == 100_000


def test_long_chains_of_relations_do_not_recurse() -> None:
    names = [f"p{i}" for i in range(20_000)]
    rules = [Rule(Literal(a, ()), (Literal(b, ()),)) for a, b in pairwise(names)]
    assert [s.relations[0] for s in strata(names, rules)] == names[::-1]
    (ring,) = strata(names, [*rules, Rule(Literal(names[-1], ()), (Literal("p0", ()),))])
    assert ring.relations == tuple(names)


def test_long_chains_of_equations_are_followed() -> None:
    equations = ", ".join(f"x{i + 1} = x{i} + 1" for i in reversed(range(300)))
    _, checked = analysed(f"q(1). p(x300) :- {equations}, q(x0).")
    assert len(checked.rules) == 1


def test_the_pipeline_is_data() -> None:
    assert [run.__name__ for run in PASSES] == [
        "resolve_types",
        "resolve_functors",
        "lower_subsumptions",
        "resolve_relations",
        "solve_loose_records",
        "name_targets",
        "choose_inline",
        "check_safety",
        "infer_types",
        "check_subtypes",
        "check_patterns",
        "unfold",
        "desugar",
        "stratify",
    ]


def test_rules_of_one_relation_have_names_of_their_own() -> None:
    """A rule whose name is that of another would neither be added nor removed."""
    clauses = parse("".join(f"p(x) :- e(x, {i}).\n" for i in range(20_000))).program.clauses
    assert len(set(map(name_of, clauses))) == len(clauses)

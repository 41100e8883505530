"""What is written parses back to the same tree."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.program import rules
from tidelog.program.syntax import (
    Aggregate,
    And,
    Atom,
    Attribute,
    Call,
    Cast,
    Clause,
    Comparison,
    Constant,
    Directive,
    Fact,
    Formula,
    Not,
    Or,
    Program,
    RelationDecl,
    Span,
    Term,
    Truth,
    TypeDecl,
    Variable,
    Wildcard,
)
from tidelog.text import parse, to_text, value_text
from tidelog.text.operator_table import BINARY, COMPARISONS, TESTS

HERE = Span("<program>", 1, 1, 1)

names = st.sampled_from(["a", "b", "edge", "input", "eqrel", "itou", "_r", "?q"])
variables = st.sampled_from(["x", "y", "?z", "_u", "not", "and"])
strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
floats = st.floats(allow_nan=False, allow_infinity=False)
integers = st.integers(-(2**63), 2**64 - 1) | st.integers(-3, 3)
constants = st.one_of(
    integers.map(Constant),
    st.integers(0, 2**64 - 1).map(lambda n: Constant(n, "unsigned")),
    floats.map(lambda n: Constant(n, "float")),
    strings.map(lambda s: Constant(s, "symbol")),
)
simple = st.one_of(variables.map(Variable), st.just(Wildcard()), constants)


def lists(of: st.SearchStrategy[Term], low: int, high: int) -> st.SearchStrategy[tuple[Term, ...]]:
    return st.lists(of, min_size=low, max_size=high).map(tuple)


def deeper(
    terms: st.SearchStrategy[Term], formulas: st.SearchStrategy[Formula]
) -> tuple[st.SearchStrategy[Term], st.SearchStrategy[Formula]]:
    """Terms and formulas one level deeper than those given."""
    several = st.lists(formulas, min_size=2, max_size=3).map(tuple)
    comparisons = st.sampled_from((*COMPARISONS, *TESTS))
    return (
        st.one_of(
            simple,
            st.builds(Call, st.sampled_from(sorted(BINARY)), lists(terms, 2, 2)),
            st.builds(Call, st.sampled_from(["-", "bnot", "lnot"]), lists(terms, 1, 1)),
            st.builds(Call, st.sampled_from(["min", "max", "cat"]), lists(terms, 2, 3)),
            st.builds(Call, st.sampled_from(["strlen", "to_number", "itou"]), lists(terms, 1, 1)),
            st.builds(Call, st.just("range"), lists(terms, 2, 3)),
            st.builds(Cast, terms, st.sampled_from(["number", "Id"])),
            st.builds(Aggregate, st.sampled_from(["sum", "min", "max", "mean"]), terms, formulas),
            st.builds(Aggregate, st.just("count"), st.none(), formulas),
        ),
        st.one_of(
            st.builds(Truth, st.booleans()),
            st.builds(Atom, names, lists(terms, 0, 3)),
            st.builds(Comparison, comparisons, terms, terms),
            st.builds(Not, formulas),
            st.builds(And, several),
            st.builds(Or, several),
        ),
    )


terms: st.SearchStrategy[Term] = simple
formulas: st.SearchStrategy[Formula] = st.builds(Atom, names, lists(simple, 0, 2))
for _ in range(4):
    terms, formulas = deeper(terms, formulas)
heads = st.lists(st.builds(Atom, names, lists(terms, 0, 3)), min_size=1, max_size=2).map(tuple)
rule_clauses = st.builds(Clause, heads, formulas)
facts = st.builds(
    Fact, names, st.lists(integers | floats | strings, max_size=4).map(tuple), st.just(HERE)
)
pairs = st.tuples(st.sampled_from(["IO", "filename", "n"]), strings)
programs = st.builds(
    Program,
    st.lists(
        st.builds(
            lambda name, of: TypeDecl(name, "union" if len(of) > 1 else "subtype", tuple(of)),
            st.sampled_from(["A", "B"]),
            st.lists(st.sampled_from(["number", "C"]), min_size=1, max_size=3),
        )
    ).map(tuple),
    st.lists(
        st.builds(
            RelationDecl,
            names,
            st.lists(st.builds(Attribute, variables, st.sampled_from(["number", "C"]))).map(tuple),
            st.frozensets(st.sampled_from(["eqrel", "brie", "transitive"])),
        )
    ).map(tuple),
    st.lists(rule_clauses, max_size=3).map(tuple),
    st.lists(facts, max_size=3).map(tuple),
    st.lists(
        st.builds(
            Directive,
            st.sampled_from(["input", "output", "printsize"]),
            names,
            st.lists(pairs, max_size=3).map(tuple),
        ),
        max_size=3,
    ).map(tuple),
    st.lists(st.tuples(strings, strings), max_size=2).map(tuple),
)


def placeless(program: Program) -> Program:
    """Facts are named tuples, so their places do count when they are compared."""
    kept = tuple(fact._replace(at=HERE) for fact in program.facts)
    return Program(
        program.types,
        program.relations,
        program.clauses,
        kept,
        program.directives,
        program.pragmas,
    )


def again(text: str) -> Program:
    parsed = parse(text)
    assert parsed.diagnostics == (), text
    return placeless(parsed.program)


@settings(max_examples=150, deadline=None)
@given(rule_clauses)
def test_a_rule_parses_back(clause: Clause) -> None:
    assert again(to_text(clause)).clauses == (clause,)


@settings(max_examples=60, deadline=None)
@given(programs)
def test_a_program_parses_back(program: Program) -> None:
    assert again(to_text(program)) == program


@settings(max_examples=200, deadline=None)
@given(st.lists(integers | floats | strings))
def test_values_parse_back(values: list[int | float | str]) -> None:
    text = ", ".join(value_text(value) for value in values)
    (fact,) = again(f"a({text}).").facts
    assert fact.values == tuple(values)
    assert list(map(type, fact.values)) == list(map(type, values))
    for got, meant in zip(fact.values, values, strict=True):
        if isinstance(meant, float):
            assert isinstance(got, float)
            assert math.copysign(1, got) == math.copysign(1, meant)


WRITTEN = """\
.pragma "legacy" ""
.type Id <: number
.type Any = Id | number
.type Same = Id
.decl edge(x: Id, y: Id) brie
.decl path(x: Id, y: Id)
.decl done()
.input edge(IO=file, filename="edge.csv", delimiter=",", n="3")
.output path
edge(1, -2).
edge(0.5, "say \\"hi\\"\\n").
edge(1u, 2).
path(x, z) :- path(x, y), edge(y, z).
path(x, y), done() :- edge(x, y), !(x < 3; y >= -x ^ 2 + 1).
done() :- (x + 1) * 2 = y, x = (-1) ^ 2 - -1, match("a.*", s), !contains("a", s).
done() :- x = sum y * 2 : { edge(y, _), y != x }, z = min(x, 1) - (y - 1), !!done().
done() :- (true, false), (x = 2 ^ 3 ^ 4; y = (2 ^ 3) ^ 4), z = as(-(1), Id) bshl bnot x.
"""


def test_a_written_program_is_written_alike() -> None:
    assert to_text(parse(WRITTEN).program) == WRITTEN


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a(x):-b(x),(c(x)).", "a(x) :- b(x), c(x)."),
        ("a( (x) ) :- ((b(x));c(x)) .", "a(x) :- b(x); c(x)."),
        ("a(x) :- x = ((1+2)+3)*4, y=1+(2+3).", "a(x) :- x = (1 + 2 + 3) * 4, y = 1 + (2 + 3)."),
        ("a(x) :- x = count:b(_).", "a(x) :- x = count : { b(_) }."),
        ("a(0x10, 0b11, 1.50, 1e2).", "a(16, 3, 1.5, 100.0)."),
        (
            ".decl a,b(x:number) inline output",
            ".decl a(x: number) inline\n.decl b(x: number) inline\n.output a\n.output b",
        ),
    ],
)
def test_before_and_after(before: str, after: str) -> None:
    assert to_text(parse(before).program).rstrip("\n") == after
    assert to_text(parse(after).program).rstrip("\n") == after


def test_the_core_form_is_written_too() -> None:
    x, y, n = Variable("x"), Variable("y"), Variable("n")
    head = rules.Literal("%1", (x, n))
    rule = rules.Rule(
        head,
        (
            rules.Literal("a", (x, Wildcard(), Constant("s", "symbol"))),
            rules.Literal("b", (x, Constant(1, "unsigned")), negated=True),
            rules.Constraint("<", x, Call("+", (y, Constant(1, "number")))),
            rules.Range(y, Constant(1, "number"), x, None),
            rules.Range(y, Constant(1, "number"), x, Constant(2, "number")),
            rules.Group("sum", n, y, "c", (x, y)),
            rules.Group("count", n, None, "c", (x, Wildcard())),
        ),
    )
    text = (
        '%1(x, n) :- a(x, _, "s"), !b(x, 1u), x < y + 1, y = range(1, x), y = range(1, x, 2), '
        "n = sum y : { c(x, y) }, n = count : { c(x, _) }."
    )
    assert to_text(rule) == text
    relation = rules.Relation("a", ("x", "y"), ("number", "float"), frozenset({"eqrel"}))
    assert to_text(relation) == ".decl a(x: number, y: float) eqrel"
    fact = rules.Rule(rules.Literal("a", (Constant(1),)), ())
    stratum = rules.Stratum(("%1",), (rule,), (fact,))
    assert to_text(stratum) == f"{text}\na(1)."
    checked = rules.CheckedProgram({"a": relation}, (fact,), (stratum,), {"a": [(1, 2.0)]})
    assert to_text(checked) == ".decl a(x: number, y: float) eqrel\na(1, 2.0).\na(1).\n"


def test_values_without_a_literal() -> None:
    assert value_text(math.inf) == 'to_float("inf")'
    assert value_text(-math.inf, "float") == 'to_float("-inf")'
    assert value_text(2, "float") == "2.0"
    assert value_text(1e300) == "1" + "0" * 300 + ".0"
    assert value_text(5e-324).startswith("0.000")


def test_a_tree_of_any_depth_can_be_written() -> None:
    term: Term = Variable("x")
    for _ in range(100_000):
        term = Call("-", (term,))
    assert to_text(term) == "-" * 100_000 + "x"


PARTS = [*'ab(x,)1.:-!;<>=+^"\\ \n{}[]$@#/*_ué', ".decl ", "sum ", "a(x) :- ", "b(y), "]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PARTS)).map("".join))
def test_no_text_breaks_the_parser(text: str) -> None:
    parsed = parse(text)
    if not parsed.diagnostics:
        assert again(to_text(parsed.program)) == placeless(parsed.program)

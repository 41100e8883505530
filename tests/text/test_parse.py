"""What each construct becomes."""

from __future__ import annotations

import pytest

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
from tidelog.text import parse, parse_atom

x, y, z = Variable("x"), Variable("y"), Variable("z")
one, two, three = Constant(1), Constant(2), Constant(3)


def program(text: str) -> Program:
    parsed = parse(text)
    assert parsed.diagnostics == ()
    return parsed.program


def body(text: str) -> Formula:
    (clause,) = program(f"h() :- {text}.").clauses
    return clause.body


def term(text: str) -> Term:
    (clause,) = program(f"h({text}) :- true.").clauses
    return clause.heads[0].terms[0]


def values(text: str) -> list[tuple[int | float | str, ...]]:
    found = program(text)
    assert found.clauses == ()
    return [fact.values for fact in found.facts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a().", ()),
        ("a( ).", ()),
        ("a(1, 2).", (1, 2)),
        ("a(-1,\n  +0).".replace("+", ""), (-1, 0)),
        ("a(- 1).", (-1,)),
        ("a(007).", (7,)),
        ("a(0x1F, 0b101, -0x10).", (31, 5, -16)),
        ("a(1.5, -2.25, 1e3, 1.5e-3).", (1.5, -2.25, 1000.0, 0.0015)),
        ('a("", "x", "a,b").', ("", "x", "a,b")),
        (r'a("say \"hi\"", "\\n\n\t\r\a\b\f\v\'").', ('say "hi"', "\\n\n\t\r\a\b\f\v'")),
        ('a("two\nlines").', ("two\nlines",)),
        ('a("é日\N{GRINNING FACE}").', ("é日\N{GRINNING FACE}",)),
        ("a(1.2.3.4).", (16909060,)),
        ("a(192.168.0.1).", (-1062731775,)),  # Soufflé reads 32 bits with a sign
        ("a((1), (-2)).", (1, -2)),
        ("a(-9223372036854775808, 9223372036854775807).", (-(2**63), 2**63 - 1)),
        ("a(18446744073709551615).", (2**64 - 1,)),
        ("a(1) // one\n . ", (1,)),
        ("/* b */ a(/* x */ 1, // y\n 2).", (1, 2)),
    ],
)
def test_facts(text: str, expected: tuple[int | float | str, ...]) -> None:
    (found,) = values(text)
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


def test_facts_without_space_between_them() -> None:
    assert values('a(1).a(2).b("x").\n\n\na(3).') == [(1,), (2,), ("x",), (3,)]


def test_a_fact_knows_its_place() -> None:
    facts = program("a(1). // b(2).\n/* c(3).\n*/ ab(4). cde(5, z).\n").facts
    assert facts == (
        Fact("a", (1,), Span("<program>", 1, 1, 1)),
        Fact("ab", (4,), Span("<program>", 3, 4, 2)),
    )


@pytest.mark.parametrize("text", ["a(1u)", "a(x)", "a(1 + 2)", 'a(cat("x", "y"))', "a(-(1))"])
def test_what_is_more_than_literals_is_a_clause(text: str) -> None:
    found = program(f"{text}.")
    assert found.facts == ()
    assert found.clauses == (Clause((parse_atom(text),), And(())),)


def call(functor: str, *args: Term) -> Call:
    return Call(functor, args)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", x),
        ("?x", Variable("?x")),
        ("_x", Variable("_x")),
        ("_", Wildcard()),
        ("1", one),
        ("1u", Constant(1, "unsigned")),
        ("0xffu", Constant(255, "unsigned")),
        ("1.0", Constant(1.0, "float")),
        ('"a"', Constant("a", "symbol")),
        ("x + y * z", call("+", x, call("*", y, z))),
        ("x - y - z", call("-", call("-", x, y), z)),
        ("x ^ y ^ z", call("^", x, call("^", y, z))),
        ("-x ^ 2", call("-", call("^", x, two))),
        ("-1 ^ 2", call("-", call("^", one, two))),
        ("(-1) ^ 2", call("^", Constant(-1), two)),
        ("2 ^ -1", call("^", two, Constant(-1))),
        ("2 ^ -x * 3", call("*", call("^", two, call("-", x)), three)),
        ("-x * y", call("*", call("-", x), y)),
        ("x -1", call("-", x, one)),
        ("x - -1", call("-", x, Constant(-1))),
        ("--1", call("-", Constant(-1))),
        ("bnot x band y", call("band", call("bnot", x), y)),
        ("lnot x ^ y", call("lnot", call("^", x, y))),
        (
            "x lor y lxor z land 1 bor 2 bxor 3 band x bshl y + z * 1",
            call(
                "lor",
                x,
                call(
                    "lxor",
                    y,
                    call(
                        "land",
                        z,
                        call(
                            "bor",
                            one,
                            call(
                                "bxor",
                                two,
                                call(
                                    "band",
                                    three,
                                    call("bshl", x, call("+", y, call("*", z, one))),
                                ),
                            ),
                        ),
                    ),
                ),
            ),
        ),
        ("x bshl 1 bshr 2 bshru 3", call("bshru", call("bshr", call("bshl", x, one), two), three)),
        ("x % y / z", call("/", call("%", x, y), z)),
        ("(x + y) * z", call("*", call("+", x, y), z)),
        ("min(x, y)", call("min", x, y)),
        ("max(x, y, z)", call("max", x, y, z)),
        ('cat("a", x, y)', call("cat", Constant("a", "symbol"), x, y)),
        ("substr(x, 1, 2)", call("substr", x, one, two)),
        ("range(1, 2)", call("range", one, two)),
        ("range(1, x, 2)", call("range", one, x, two)),
        ("itou(x)", call("itou", x)),
        ("as(x + 1, Id)", Cast(call("+", x, one), "Id")),
    ],
)
def test_terms(text: str, expected: Term) -> None:
    assert term(text) == expected


a_x, b_y = Atom("a", (x,)), Atom("b", (y,))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", Truth(True)),
        ("false", Truth(False)),
        ("a(x)", a_x),
        ("a(x), b(y)", And((a_x, b_y))),
        ("a(x); b(y)", Or((a_x, b_y))),
        ("a(x), b(y); a(x)", Or((And((a_x, b_y)), a_x))),
        ("a(x), (b(y); a(x))", And((a_x, Or((b_y, a_x))))),
        ("(a(x), b(y)), a(x)", And((And((a_x, b_y)), a_x))),
        ("((a(x)))", a_x),
        ("!a(x), b(y)", And((Not(a_x), b_y))),
        ("!!a(x)", Not(Not(a_x))),
        ("!(a(x), b(y))", Not(And((a_x, b_y)))),
        ("!x < y", Not(Comparison("<", x, y))),
        ("x + 1 != y", Comparison("!=", call("+", x, one), y)),
        ("x<-1", Comparison("<", x, Constant(-1))),
        ("(x + 1) * 2 >= y", Comparison(">=", call("*", call("+", x, one), two), y)),
        ("((x)) = y", Comparison("=", x, y)),
        ("match(x, y)", Comparison("match", x, y)),
        ("!contains(x, y)", Not(Comparison("contains", x, y))),
        ("itou(x, y)", Atom("itou", (x, y))),
        ("itou(x)", Atom("itou", (x,))),
        ("itou(x) = y", Comparison("=", call("itou", x), y)),
        ("x = count : a(x)", Comparison("=", x, Aggregate("count", None, a_x))),
        (
            "x = count : { a(x), b(y) }",
            Comparison("=", x, Aggregate("count", None, And((a_x, b_y)))),
        ),
        ("x = sum y + 1 : b(y)", Comparison("=", x, Aggregate("sum", call("+", y, one), b_y))),
        ("x = min y : b(y)", Comparison("=", x, Aggregate("min", y, b_y))),
        ("x = min (y) : b(y)", Comparison("=", x, Aggregate("min", y, b_y))),
        ("x = max (y) * 2 : b(y)", Comparison("=", x, Aggregate("max", call("*", y, two), b_y))),
        (
            "x = 1 + mean y : b(y) + 2, a(x)",
            And(
                (
                    Comparison("=", x, call("+", call("+", one, Aggregate("mean", y, b_y)), two)),
                    a_x,
                )
            ),
        ),
        (
            "x = sum y : { b(y), z = count : { a(x); b(z) } }",
            Comparison(
                "=",
                x,
                Aggregate(
                    "sum",
                    y,
                    And(
                        (
                            b_y,
                            Comparison(
                                "=", z, Aggregate("count", None, Or((a_x, Atom("b", (z,)))))
                            ),
                        )
                    ),
                ),
            ),
        ),
        ("output(x), transitive(y)", And((Atom("output", (x,)), Atom("transitive", (y,))))),
    ],
)
def test_bodies(text: str, expected: Formula) -> None:
    assert body(text) == expected


def test_several_heads() -> None:
    (clause,) = program("a(x), b(y) :- c(x, y).").clauses
    assert clause == Clause((a_x, b_y), Atom("c", (x, y)))


def test_places() -> None:
    (clause,) = program("\n  a(x) :-\n    bc(x), x >= 10, !d(_).").clauses
    assert clause.at == Span("<program>", 2, 3, 1)
    assert isinstance(clause.body, And)
    atom, comparison, negation = clause.body.parts
    assert atom.at == Span("<program>", 3, 5, 2)
    assert comparison.at == Span("<program>", 3, 14, 2)
    assert isinstance(comparison, Comparison)
    assert comparison.right.at == Span("<program>", 3, 17, 2)
    assert negation.at == Span("<program>", 3, 21, 1)


NUMBER_X = (Attribute("x", "number"),)


def test_declarations() -> None:
    found = program(
        ".decl a(x:number)\n.decl b, c(x: number, y: Name) brie eqrel output\n.decl d()\n"
        ".decl e(x: number) printsize input transitive\ntransitive(1).\n.decl input(input: number)"
    )
    both = (*NUMBER_X, Attribute("y", "Name"))
    assert found.relations == (
        RelationDecl("a", NUMBER_X),
        RelationDecl("b", both, frozenset({"brie", "eqrel"})),
        RelationDecl("c", both, frozenset({"brie", "eqrel"})),
        RelationDecl("d", ()),
        RelationDecl("e", NUMBER_X, frozenset({"transitive"})),
        RelationDecl("input", (Attribute("input", "number"),)),
    )
    assert found.directives == (
        Directive("output", "b"),
        Directive("output", "c"),
        Directive("printsize", "e"),
        Directive("input", "e"),
    )
    assert [fact.relation for fact in found.facts] == ["transitive"]


def test_types() -> None:
    assert program(
        ".type A <: number .type B = A .type C = A | B | number .type D\n"
        ".number_type E\n.symbol_type F"
    ).types == (
        TypeDecl("A", "subtype", ("number",)),
        TypeDecl("B", "alias", ("A",)),
        TypeDecl("C", "union", ("A", "B", "number")),
        TypeDecl("D", "subtype", ("symbol",)),
        TypeDecl("E", "subtype", ("number",)),
        TypeDecl("F", "subtype", ("symbol",)),
    )


def test_directives() -> None:
    assert program(
        '.input a, b(IO=file, filename="x\\ty.csv", delimiter=",", headers=true, n=3)\n'
        ".output a\n.output b()\n.printsize a"
    ).directives == (
        *(
            Directive(
                "input",
                name,
                (
                    ("IO", "file"),
                    ("filename", "x\ty.csv"),
                    ("delimiter", ","),
                    ("headers", "true"),
                    ("n", "3"),
                ),
            )
            for name in "ab"
        ),
        Directive("output", "a"),
        Directive("output", "b"),
        Directive("printsize", "a"),
    )


def test_pragmas_and_plans() -> None:
    found = program(
        '.pragma "legacy"\n.pragma "magic" "*"\na(x) :- b(x).\n.plan 0:(1), 1:(2, 1), 2:()\na(1).'
    )
    assert found.pragmas == (("legacy", ""), ("magic", "*"))
    assert len(found.clauses) == len(found.facts) == 1


def test_line_markers_of_a_preprocessor_are_skipped() -> None:
    assert values('# 1 "a.dl"\na(1).\n#line 7\na(2).') == [(1,), (2,)]


def test_a_relation_without_declaration_is_fine() -> None:
    assert program("a(1). b(x) :- a(x).").relations == ()


def test_queries() -> None:
    assert parse_atom("path(1, x)") == Atom("path", (one, x))
    assert parse_atom(' path("a", _).  ') == Atom("path", (Constant("a", "symbol"), Wildcard()))
    assert parse_atom("p()") == Atom("p", ())

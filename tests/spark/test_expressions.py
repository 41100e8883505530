"""What functors, comparisons and aggregates give on Spark is what the local engine gives."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

from tidelog import Database
from tidelog.program.diagnostics import EvaluationError, TidelogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST, LEAST, TOP = 2**63 - 1, -(2**63), 2**64 - 1
NUMBERS = (0, 1, -1, 2, -2, 3, 7, -7, 63, 64, 65, MOST, LEAST, LEAST + 1, 1 << 40, -(1 << 40))
UNSIGNED = (0, 1, 2, 3, 7, 63, 64, MOST, MOST + 1, TOP, TOP - 1, 1 << 40)
FLOATS = (0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e300, -1e300, 1e-300, 3.0, math.inf, -math.inf)
WORDS = ("", "a", "b", "ab", "bab", "é", "aé", "日本", "10", "-3", "1.5", "x y")

BINARY = ("+", "-", "*", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor")


def same(spark: SparkSession, program: str, facts: dict[str, Any], *names: str) -> None:
    """The engines agree on these relations."""
    local = Database(program, facts=facts)
    mine = Database(program, facts=facts, engine="spark", spark=spark, strategy="frames")
    for name in names:
        assert _shown(mine[name].rows()) == _shown(local[name].rows()), name


def _shown(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    """NaN is not equal to itself, but it is shown in the same way."""
    return sorted(map(repr, rows))


def pairs(values: Iterable[Any]) -> list[tuple[Any, Any]]:
    listed = list(values)
    return [(x, y) for x in listed for y in listed]


@pytest.mark.parametrize(
    ("kind", "values"), [("number", NUMBERS), ("unsigned", UNSIGNED), ("float", FLOATS)]
)
def test_arithmetic(spark: SparkSession, kind: str, values: tuple[Any, ...]) -> None:
    functors = BINARY if kind != "float" else ("+", "-", "*", "/")
    rules = [f'out("{f}", x, y, x {f} y) :- v(x, y).' for f in functors]
    rules += [f'out("{f}", x, y, {f}(x, y)) :- v(x, y).' for f in ("min", "max")]
    if kind == "float":
        rules.append('out("^", x, y, x ^ y) :- v(x, y), x > 0.0, y < 1.0e6.')
    else:
        rules += [f'out("{f}", x, y, x {f} y) :- v(x, y), y != 0.' for f in ("/", "%")]
        rules.append('out("^", x, y, x ^ y) :- v(x, y), x != 0.')
        rules += [f'out("{f}", x, x, {f} x) :- v(x, _).' for f in ("bnot", "lnot")]
    if kind != "unsigned":
        rules.append('out("neg", x, x, -x) :- v(x, _).')
    tests = [
        f'out("{op}", x, y, x) :- v(x, y), x {op} y.' for op in ("=", "!=", "<", "<=", ">", ">=")
    ]
    program = f"""
    .decl v(x: {kind}, y: {kind})
    .decl out(f: symbol, x: {kind}, y: {kind}, z: {kind})
    {chr(10).join(rules + tests)}
    """
    same(spark, program, {"v": pairs(values)}, "out")


def test_words(spark: SparkSession) -> None:
    program = """
    .decl v(x: symbol, y: symbol)
    .decl word(f: symbol, x: symbol, y: symbol, z: symbol)
    .decl num(f: symbol, x: symbol, y: symbol, z: number)
    .decl part(x: symbol, i: number, n: number, z: symbol)
    .decl at(i: number)
    at(-1). at(0). at(1). at(2). at(100).
    word("cat", x, y, cat(x, y, x)) :- v(x, y).
    word("min", x, y, min(x, y)) :- v(x, y).
    word("max", x, y, max(x, y)) :- v(x, y).
    word("<", x, y, "") :- v(x, y), x < y.
    word(">=", x, y, "") :- v(x, y), x >= y.
    word("contains", x, y, "") :- v(x, y), contains(x, y).
    word("lacks", x, y, "") :- v(x, y), !contains(x, y).
    word("match", x, y, "") :- v(x, y), match("[ab]*", x).
    word("none", x, y, "") :- v(x, y), !match(".b?", x).
    num("strlen", x, y, strlen(x)) :- v(x, y).
    num("read", x, y, to_number(x)) :- v(x, y), match("-?[0-9]+", x).
    part(x, i, n, substr(x, i, n)) :- v(x, _), at(i), at(n).
    """
    same(spark, program, {"v": pairs(WORDS)}, "word", "num", "part")


def test_conversions(spark: SparkSession) -> None:
    program = """
    .decl n(x: number)
    .decl u(x: unsigned)
    .decl f(x: float)
    .decl text(f: symbol, z: symbol)
    .decl whole(f: symbol, z: number)
    .decl bits(f: symbol, z: unsigned)
    .decl real(f: symbol, z: float)
    text("n", to_string(x)) :- n(x).
    text("u", to_string(x)) :- u(x).
    text("f", to_string(x)) :- f(x).
    real("n", itof(x)) :- n(x).
    real("u", utof(x)) :- u(x).
    whole("u", utoi(x)) :- u(x).
    bits("n", itou(x)) :- n(x).
    whole("f", ftoi(x)) :- f(x), x > -1.0e18, x < 1.0e18.
    bits("f", ftou(x)) :- f(x), x >= 0.0, x < 1.0e18.
    bits("as", as(x, unsigned)) :- n(x).
    """
    facts = {
        "n": [(x,) for x in NUMBERS],
        "u": [(x,) for x in UNSIGNED],
        "f": [(x,) for x in (*FLOATS, 1e23, 0.1, 123456.789, -1e-7)],
    }
    same(spark, program, facts, "text", "whole", "bits", "real")


def test_aggregates_and_ranges(spark: SparkSession) -> None:
    program = """
    .decl v(k: symbol, n: number)
    .decl u(k: symbol, n: unsigned)
    .decl f(k: symbol, n: float)
    .decl key(k: symbol)
    .decl out(what: symbol, k: symbol, n: number)
    .decl bits(what: symbol, k: symbol, n: unsigned)
    .decl real(what: symbol, k: symbol, n: float)
    key("none"). key(k) :- v(k, _).
    out("sum", k, s) :- key(k), s = sum n : { v(k, n) }.
    out("count", k, s) :- key(k), s = count : { v(k, _) }.
    out("min", k, s) :- key(k), s = min n : { v(k, n) }.
    out("max", k, s) :- key(k), s = max n : { v(k, n) }.
    out("all", "", s) :- s = count : { v(_, _) }.
    out("range", "", x) :- x = range(3, 12, 4).
    out("down", "", x) :- x = range(3, -2).
    bits("sum", k, s) :- key(k), s = sum n : { u(k, n) }.
    bits("max", k, s) :- key(k), s = max n : { u(k, n) }.
    bits("min", k, s) :- key(k), s = min n : { u(k, n) }.
    real("sum", k, s) :- key(k), s = sum n : { f(k, n) }.
    real("mean", k, s) :- key(k), s = mean n : { f(k, n) }.
    real("max", k, s) :- key(k), s = max n : { f(k, n) }.
    """
    facts = {
        "v": [("a", x) for x in NUMBERS] + [("b", 5)],
        "u": [("a", x) for x in UNSIGNED] + [("b", 5)],
        "f": [("a", 0.1 * x) for x in range(30)] + [("b", 1e308), ("b", 9e307)],
    }
    same(spark, program, facts, "out", "bits", "real")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("q(x / y) :- p(x, y).", "division by zero"),
        ("q(0 ^ x) :- p(_, x), x < 0.", "zero to a negative power"),
        (
            'q(to_number("x")) :- p(_, _).',
            'to_number("x"): the string does not begin with a number',
        ),
        # The value of a failing argument is passed on to Python functions.
        (
            'q(to_number("x") ^ 2) :- p(_, _).',
            'to_number("x"): the string does not begin with a number',
        ),
        (
            'q(to_number(sin(to_float(to_string(to_number("x")))))) :- p(_, _).',
            'to_number("x"): the string does not begin with a number',
        ),
        ("q(x / y ^ 2) :- p(x, y).", "division by zero"),
        ("q((x / y) ^ 2) :- p(x, y).", "division by zero"),
        ('q(x) :- p(x, _), s = cat("(?", "=a)"), match(s, "a").', '"(?=a)" is not supported'),
    ],
)
def test_what_goes_wrong(spark: SparkSession, rule: str, message: str) -> None:
    """The message names the rule, and the facts are as before."""
    program = ".decl p(x: number, y: number)\n.decl q(x: number)"
    facts = {"p": [(1, 1), (2, 0), (0, -1)]}
    db = Database(program, facts=facts, engine="spark", spark=spark, strategy="frames")
    with pytest.raises(EvaluationError, match="in the rule") as error, db.transaction() as tx:
        tx.add_rule(rule)
    assert message in str(error.value)
    assert db.size("q") == 0
    assert rule not in db.rules.values()


def test_what_is_ruled_out_does_not_go_wrong(spark: SparkSession) -> None:
    """Tests come before what can fail, in whatever order they are written."""
    program = """
    .decl p(x: number, y: number)
    .decl s(y: number)
    q(z) :- z = x / y, p(x, y), y != 0.
    r(z) :- z = x / y, p(x, y), s(y).
    """
    facts = {"p": [(6, 2), (1, 0)], "s": [(2,)]}
    same(spark, program, facts, "q", "r")


def test_symbols_have_no_numbers(spark: SparkSession) -> None:
    program = '.decl p(x: symbol)\np("a").\nq(ord(x)) :- p(x).'
    with pytest.raises(TidelogError, match=r":3:3: error: symbols have no numbers on Spark"):
        Database(program, engine="spark", spark=spark, strategy="frames")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            ".functor f(x: number): number\np(1).\nq(@f(x)) :- p(x).",
            r":3:3: error: @f is not called on Spark",
        ),
        ("p(1).\nq(autoinc(), x) :- p(x).", r":2:3: error: autoinc is not called on Spark"),
        (
            ".decl r(x: number)\nr(1).\nr(x) <= r(y) :- x < y.",
            r":1:7: error: r has a subsumption or a choice-domain",
        ),
        (
            ".decl r(x: number, y: number) choice-domain x\nr(1, 2).",
            r":1:7: error: r has a subsumption or a choice-domain",
        ),
    ],
)
def test_what_needs_one_memory_or_one_order_is_refused(
    spark: SparkSession, program: str, message: str
) -> None:
    with pytest.raises(TidelogError, match=message):
        Database(
            program, engine="spark", spark=spark, functors={"f": abs} if "@f" in program else {}
        )


def test_explanations_are_refused(spark: SparkSession) -> None:
    database = Database("p(x) :- q(x). q(1).", engine="spark", spark=spark)
    for explain, fact in ((database.why, "p(1)"), (database.why_not, "p(2)")):
        with pytest.raises(TidelogError, match="explanations are not available on Spark"):
            explain(fact)
    (delta,) = database.apply("+q(2).")
    with pytest.raises(TidelogError, match="this delta cannot be explained"):
        delta.why("+p(2)")

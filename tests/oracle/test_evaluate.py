"""The oracle against answers computed by hand, one construct at a time."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.law.adapters import oracle, surface, typed
from tests.law.generate import from_seed
from tests.law.metamorphic import TRANSFORMATIONS, Transformation, variant
from tidelog.oracle.evaluate import check, evaluate
from tidelog.program.diagnostics import DataError, EvaluationError, LimitError
from tidelog.program.syntax import And, Atom, Call, Clause, Constant, Term

CASES = sorted((Path(__file__).parent / "cases").glob("*.dl"))

EDGES = ".decl e(x: number, y: number)\ne(1, 2). e(2, 3). e(3, 1). e(3, 4).\n"
NUMBERS = ".decl n(x: number)\nn(1). n(2). n(3).\n"
WORDS = '.decl w(s: symbol)\nw("a"). w("ab"). w("12"). w("").\n'
PRICES = """.decl price(shop: symbol, item: symbol, p: number)
price("x", "tea", 3). price("x", "jam", 5). price("y", "tea", 4). price("y", "jam", 5).
.decl shop(s: symbol)
shop("x"). shop("y"). shop("z").
"""


def r(*kinds: str) -> str:
    """The declaration of the relation that a case looks at."""
    return f".decl r({', '.join(f'c{i}: {kind}' for i, kind in enumerate(kinds))})\n"


def one(kind: str, term: str) -> str:
    """A program with one fact: the value of a term."""
    return r(kind) + f"r({term}) :- true.\n"


ANSWERS: dict[str, tuple[str, set[Any]]] = {
    "facts are a set": (r("number") + "r(1). r(2). r(1).", {(1,), (2,)}),
    "join": (EDGES + r("number", "number") + "r(x, z) :- e(x, y), e(y, z).",
             {(1, 3), (2, 1), (2, 4), (3, 2)}),
    "self-join with the same atom twice": (EDGES + r("number") + "r(x) :- e(x, y), e(x, y).",
                                           {(1,), (2,), (3,)}),
    "cross product": (NUMBERS + r("number", "number") + "r(x, y) :- n(x), n(y), x + y = 5.",
                      {(2, 3), (3, 2)}),
    "constant in the body": (EDGES + r("number") + "r(y) :- e(3, y).", {(1,), (4,)}),
    "constant in the head": (NUMBERS + r("number", "symbol") + 'r(x, "k") :- n(x), x > 2.',
                             {(3, "k")}),
    "repeated variable": (EDGES + r("number") + "e(7, 7). r(x) :- e(x, x).", {(7,)}),
    "wildcards differ": (EDGES + r("number") + "r(x) :- e(x, _), e(_, x).", {(1,), (2,), (3,)}),
    "left-linear recursion": (EDGES + r("number") + ".decl p(x: number, y: number)\n"
        "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z). r(y) :- p(1, y), y > 1.",
        {(2,), (3,), (4,)}),
    "non-linear recursion": (EDGES + r("number", "number") +
        "r(x, y) :- e(x, y). r(x, z) :- r(x, y), r(y, z).",
        {(x, y) for x in (1, 2, 3) for y in (1, 2, 3, 4)}),
    "mutual recursion": (r("number") + ".decl odd(x: number)\n"
        "r(0). odd(x + 1) :- r(x), x < 6. r(x + 1) :- odd(x), x < 6.", {(0,), (2,), (4,), (6,)}),
    "arithmetic in recursion": (r("number") + "r(1). r(x * 2) :- r(x), x < 20.",
                                {(1,), (2,), (4,), (8,), (16,), (32,)}),
    "negation": (EDGES + r("number") + "r(x) :- e(_, x), !e(x, 1).", {(1,), (2,), (4,)}),
    "wildcard under negation": (EDGES + r("number") + "r(x) :- e(_, x), !e(x, _).", {(4,)}),
    "negation of an empty relation": (NUMBERS + r("number") + ".decl none(x: number)\n"
        "r(x) :- n(x), !none(x).", {(1,), (2,), (3,)}),
    "negation over strata": (NUMBERS + r("number") + ".decl a(x: number)\n.decl b(x: number)\n"
        "a(x) :- n(x), x > 1. b(x) :- n(x), !a(x). r(x) :- n(x), !b(x).", {(2,), (3,)}),
    "negated conjunction": (NUMBERS + r("number") + "r(x) :- n(x), !(x > 1, x < 3).",
                            {(1,), (3,)}),
    "negated disjunction": (NUMBERS + r("number") + "r(x) :- n(x), !(x = 1 ; x = 3).", {(2,)}),
    "nested negation": (EDGES + r("number") + "r(x) :- e(_, x), !(e(x, _), !e(x, 1)).",
                        {(3,), (4,)}),
    "double negation": (EDGES + r("number") + "r(x) :- e(_, x), !!e(x, _).",
                        {(1,), (2,), (3,)}),
    "expression under negation": (NUMBERS + r("number") + "r(x) :- n(x), !n(x + 1).", {(3,)}),
    "disjunction": (NUMBERS + r("number") + "r(x) :- n(x), (x = 1 ; x > 2).", {(1,), (3,)}),
    "disjunction that binds": (NUMBERS + EDGES + r("number") + "r(x) :- (e(x, 4) ; n(x), x < 2).",
                               {(1,), (3,)}),
    "disjunction of bodies": (NUMBERS + r("number") + "r(x) :- x = 9 ; n(x), x = 1 ; false.",
                              {(9,), (1,)}),
    "several heads": (NUMBERS + r("number") + ".decl s(x: number)\ns(x + 5), r(x) :- n(x).\n"
        "r(x) :- s(x), x > 7.", {(1,), (2,), (3,), (8,)}),
    "true and false": (r("number") + "r(1) :- true. r(2) :- false.", {(1,)}),
    "nullary relation": (NUMBERS + r("number") + ".decl go()\n.decl stop()\n"
        "go() :- n(3). stop() :- n(4). r(x) :- n(x), go(), !stop().", {(1,), (2,), (3,)}),
    "five columns": (r("number", "symbol", "float", "unsigned", "number") +
        '.decl q(a: number, b: symbol, c: float, d: unsigned, e: number)\n'
        'q(1, "a", 0.5, 2, 3). r(e, b, c, d, a) :- q(a, b, c, d, e).', {(3, "a", 0.5, 2, 1)}),
    "expressions that wait for each other": (EDGES + r("number", "number") +
        "r(x, y) :- e(x, y + 1), e(y, x + 1).", {(1, 1), (2, 2), (3, 3)}),
    "expression bound by its own atom": (EDGES + r("number") + "r(x) :- e(x, x + 1).",
                                         {(1,), (2,), (3,)}),
    "equality binds from either side": (r("number", "number") +
        "r(x, y) :- 3 = x, y + 0 = x, y = 3.", {(3, 3)}),
    "chain of equalities": (r("number") + "r(z) :- z = y * 2, y = x + 1, x = 4.", {(10,)}),
    "undeclared relation": (NUMBERS + "r(x, y) :- n(x), y = x * x.", {(1, 1), (2, 4), (3, 9)}),
    "eqrel": (".decl r(x: number, y: number) eqrel\nr(1, 2). r(3, 2). r(5, 5).",
              {(x, y) for x in (1, 2, 3) for y in (1, 2, 3)} | {(5, 5)}),
    "eqrel through rules": (EDGES + ".decl r(x: number, y: number) eqrel\n"
        "r(x, y) :- e(x, y), x < 2. r(y, 4) :- r(2, y).",
        {(x, y) for x in (1, 2, 4) for y in (1, 2, 4)}),
    "transitive": (".decl r(x: number, y: number) transitive\nr(1, 2). r(2, 3). r(3, 4).",
                   {(1, 2), (2, 3), (3, 4), (1, 3), (2, 4), (1, 4)}),
    "count": (PRICES + r("number") + "r(c) :- c = count : { price(_, _, _) }.", {(4,)}),
    "count of nothing": (PRICES + r("number") +
        'r(c) :- c = count : { price("z", _, _) }.', {(0,)}),
    "count with an outer variable": (PRICES + r("symbol", "number") +
        "r(s, c) :- shop(s), c = count : { price(s, _, _) }.", {("x", 2), ("y", 2), ("z", 0)}),
    "sum counts equal values of different facts": (PRICES + r("number") +
        "r(t) :- t = sum p : { price(_, _, p) }.", {(17,)}),
    "sum of nothing": (PRICES + r("number") + 'r(t) :- t = sum p : { price("z", _, p) }.', {(0,)}),
    "min and max": (PRICES + r("symbol", "number", "number") + "r(s, a, b) :- shop(s), "
        "a = min p : { price(s, _, p) }, b = max p : { price(s, _, p) }.",
        {("x", 3, 5), ("y", 4, 5)}),
    "min of nothing fails": (PRICES + r("symbol") +
        "r(s) :- shop(s), 0 < min p : { price(s, _, p) }.", {("x",), ("y",)}),
    "witness of a minimum": (PRICES + r("symbol", "number") +
        'r(s, m) :- m = min p : { price(s, "tea", p) }.', {("x", 3)}),
    "several witnesses": (PRICES + r("symbol", "symbol") +
        "r(s, i) :- 5 = max p : { price(s, i, p) }.", {("x", "jam"), ("y", "jam")}),
    "mean": (PRICES + r("float") + 'r(m) :- m = mean p : { price(_, "tea", p) }.', {(3.5,)}),
    "aggregate over a join": (PRICES + r("number") +
        "r(c) :- c = count : { price(s, i, p), price(t, i, q), p < q }.", {(1,)}),
    "aggregate with a test": (PRICES + r("number") +
        "r(c) :- c = count : { price(_, _, p), p > 3 }.", {(3,)}),
    "aggregate with negation": (PRICES + r("number") +
        "r(c) :- c = count : { shop(s), !price(s, _, _) }.", {(1,)}),
    "target expression": (PRICES + r("number") + 'r(t) :- t = sum p * 2 : { price("x", _, p) }.',
                          {(16,)}),
    "target variable is local": (PRICES + r("number", "number") +
        'r(p, m) :- price("x", "tea", p), m = max p : { price(_, _, p) }.', {(3, 5)}),
    "siblings do not share locals": (PRICES + r("number") + "r(a + b) :- "
        'a = count : { price(s, _, 3) }, b = count : { price(s, _, 5) }.', {(3,)}),
    "nested aggregates": (PRICES + r("number") + "r(t) :- "
        "t = max c : { shop(s), c = sum p : { price(s, _, p) } }.", {(9,)}),
    "nested aggregate with the rule's variable": (PRICES + r("symbol", "number") +
        "r(i, t) :- price(_, i, _), t = sum c : { shop(s), c = count : { price(s, i, _) } }.",
        {("tea", 2), ("jam", 2)}),
    "aggregate in the head": (NUMBERS + r("number", "number") +
        "r(x, count : { n(y), y < x }) :- n(x).", {(1, 0), (2, 1), (3, 2)}),
    "aggregate in an atom": (NUMBERS + r("number") + "r(x) :- n(x), n(x - count : { n(1) }).",
                             {(2,), (3,)}),
    "aggregate of recursion": (EDGES + r("number", "number") + ".decl p(x: number, y: number)\n"
        "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z). "
        "r(x, c) :- e(x, _), c = count : { p(x, _) }.", {(1, 4), (2, 4), (3, 4)}),
    "range": (r("number") + "r(x) :- x = range(1, 4).", {(1,), (2,), (3,)}),
    "range downwards": (r("number") + "r(x) :- x = range(2, -1).", {(2,), (1,), (0,)}),
    "range with a step": (r("number") + "r(x) :- x = range(0, 7, 3).", {(0,), (3,), (6,)}),
    "range away from its end": (r("number") + "r(x) :- x = range(0, 7, -3).", set()),
    "range in an atom": (NUMBERS + r("number") + "r(x) :- x = 1, n(range(3, 9)).", {(1,)}),
    "number wraps": (one("number", "9223372036854775807 + 1"), {(-(2**63),)}),
    "unsigned wraps": (r("unsigned") + ".decl u(x: unsigned)\nu(1). r(x - 2) :- u(x).",
                       {(2**64 - 1,)}),
    "smallest number divided by -1": (r("number") +
        "r(x / -1) :- x = -9223372036854775807 - 1.", {(-(2**63),)}),
    "division cuts off": (r("number", "number") + "r(-7 / 2, -7 % 2) :- true.", {(-3, -1)}),
    "division guarded later": (r("number") + NUMBERS + "n(0). r(6 / x) :- n(x), x != 0.",
                               {(6,), (3,), (2,)}),
    "powers": (r("number", "number", "number") + "r(3 ^ 4, -1 ^ -3, 2 ^ -1) :- true.",
               {(81, -1, 0)}),
    "power wraps": (one("number", "3 ^ 64"), {(3**64 - 2**64 * ((3**64 + 2**63) // 2**64),)}),
    "bits": (r("number", "number", "number", "number") +
        "r(6 band 3, 6 bor 3, 6 bxor 3, bnot 6) :- true.", {(2, 7, 5, -7)}),
    "shifts": (r("number", "number", "number", "number") +
        "r(1 bshl 65, -8 bshr 1, -1 bshru 63, 1 bshl 63) :- true.", {(2, -4, 1, -(2**63))}),
    "logic": (r("number", "number", "number", "number") +
        "r(2 land 0, 2 lor 0, 2 lxor 3, lnot 0) :- true.", {(0, 1, 0, 1)}),
    "float arithmetic": (r("float", "float", "float") +
        "r(x / 4, x ^ 2, -x) :- x = 3.0.", {(0.75, 9.0, -3.0)}),
    "float division by zero": (r("float") + ".decl f(x: float)\nf(0.0). r(1.0 / x) :- f(x).",
                               {(math.inf,)}),
    "one zero": (r("float") + ".decl f(x: float)\nf(-0.0). f(0.0). r(1.0 / x) :- f(x).",
                 {(math.inf,)}),
    "float sum is exact": (r("float") + ".decl f(x: float)\nf(1.0e100). f(-1.0e100). f(0.5)."
        " f(0.25). r(s) :- s = sum x : { f(x) }.", {(0.75,)}),
    "float sum beyond the largest": (r("float", "float") + ".decl f(i: number, x: float)\n"
        "f(1, 1.0e308). f(2, 1.5e308). f(3, -1.0e308). f(4, -1.5e308). r(a, b) :-"
        " a = sum x : { f(i, x), i < 3 }, b = sum x : { f(i, x), i > 2 }.",
        {(float("inf"), float("-inf"))}),
    "min and max functors": (r("number", "symbol", "float") +
        'r(min(3, 1, 2), max("a", "b", "ab"), max(0.5, 1.5)) :- true.', {(1, "b", 1.5)}),
    "strings": (r("symbol", "number", "symbol", "symbol") +
        'r(cat("a", "b", "c"), strlen("été"), substr("tide", 1, 2), substr("tide", 9, 1)) :- true.',
        {("abc", 3, "id", "")}),
    "substr clips": (r("symbol", "symbol") +
        'r(substr("tide", 2, 99), substr("tide", -1, 2)) :- true.', {("de", "")}),
    "conversions": (r("symbol", "number", "number", "float", "unsigned") +
        'r(to_string(-5), to_number("12"), ftoi(-1.5), itof(2), itou(-1)) :- true.',
        {("-5", 12, -1, 2.0, 2**64 - 1)}),
    "conversion guarded by match": (WORDS + r("number") +
        'r(to_number(s)) :- w(s), match("[0-9]+", s).', {(12,)}),
    "match is of the whole": (WORDS + r("symbol") + 'r(s) :- w(s), match("a", s).', {("a",)}),
    "negated match": (WORDS + r("symbol") + 'r(s) :- w(s), !match("a.*", s).', {("12",), ("",)}),
    "contains": (WORDS + r("symbol") + 'r(s) :- w(s), contains("b", s).', {("ab",)}),
    "symbols by code points": (WORDS + r("symbol") + 'r(s) :- w(s), s < "ab".',
                               {("a",), ("12",), ("",)}),
    "ord is injective": (WORDS + r("symbol", "symbol") +
        "r(s, t) :- w(s), w(t), ord(s) = ord(t).", {(s, s) for s in ("a", "ab", "12", "")}),
    "as keeps the bits": (r("unsigned", "number") +
        "r(as(x, unsigned), as(1.0, number)) :- x = -1.", {(2**64 - 1, 0x3FF0000000000000)}),
    "there and back as": (WORDS + r("symbol") +
        "r(as(x, symbol)) :- w(s), x = as(s, number).", {("a",), ("ab",), ("12",), ("",)}),
    "integer literal for a float": (r("float") + "r(1). r(x + 1) :- r(x), x < 3.",
                                    {(1.0,), (2.0,), (3.0,)}),
    "types of one's own": (".type Id <: number\n.type Key = Id\n.decl r(x: Key)\nr(4).", {(4,)}),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_answer(name: str) -> None:
    text, expected = ANSWERS[name]
    assert oracle(text, {})["r"] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r("number") + NUMBERS + "r(1 / (x - 1)) :- n(x).", "division by zero"),
        (r("number") + NUMBERS + "r(1 % (x - 1)) :- n(x).", "division by zero"),
        (r("number") + NUMBERS + "r((x - 1) ^ -1) :- n(x).", "division by zero"),
        (r("number") + WORDS + "r(to_number(s)) :- w(s).", "is no number"),
        (r("float") + WORDS + "r(to_float(s)) :- w(s).", "is no float"),
        (r("number") + '.decl w(s: symbol)\nw("9223372036854775808").\nr(to_number(s)) :- w(s).',
         "is no number"),
        (r("number") + ".decl f(x: float)\nf(1.0e300).\nr(ftoi(x)) :- f(x).", "does not fit"),
    ],
)  # fmt: skip
def test_errors(text: str, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        oracle(text, {})


def test_a_program_that_never_ends_meets_the_limit() -> None:
    with pytest.raises(LimitError, match="r exceeds the limit on facts"):
        oracle(r("number") + "r(0). r(x + 1) :- r(x).", {}, max_facts=100)


def test_deep_nesting_is_no_traceback() -> None:
    assert oracle(one("number", "+".join(["1"] * 250)), {})["r"] == {(250,)}
    term: Term = Constant(1, "number")
    for _ in range(20_000):
        term = Call("+", (term, term), kind="number")
    deep = Clause((Atom("r", (term,)),), And(()))
    with pytest.raises(LimitError, match="too deeply"):
        evaluate(replace(typed(r("number")), clauses=(deep,)))


def test_given_facts_count_like_written_ones() -> None:
    text = r("float") + EDGES + "r(itof(y)) :- e(x, y), x > 2."
    assert oracle(text, {"e": [(5, 6)], "r": [(1,)]})["r"] == {(1.0,), (4.0,), (6.0,)}
    with pytest.raises(DataError, match="no relation e with 1 columns"):
        oracle(text, {"e": [(5,)]})


def test_check_says_what_differs() -> None:
    text = r("symbol", "number") + WORDS + "r(s, strlen(s)) :- w(s)."
    found = oracle(text, {})
    assert check(typed(text), {}, found) == []
    found["r"] = (found["r"] | {("b", 1)}) - {("a", 1)}
    assert check(typed(text), {}, found) == ['-r("b", 1).', '+r("a", 1).']


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_case(case: Path) -> None:
    """Cases with a hand-written `.expected` hold the facts of every `.output` relation."""
    text = case.read_text(encoding="utf-8")
    answer = oracle(text, {})
    expected = case.with_suffix(".expected")
    if not expected.exists():
        return
    facts = surface(expected.read_text(encoding="utf-8")).facts
    for directive in surface(text).directives:
        rows = {fact.values for fact in facts if fact.relation == directive.relation}
        assert answer[directive.relation] == rows, directive.relation


@pytest.mark.sampled(2)
@pytest.mark.parametrize("transformation", TRANSFORMATIONS, ids=lambda t: t.__name__)
def test_transformations_do_not_change_the_answer(transformation: Transformation) -> None:
    for seed in range(30):
        program = from_seed(seed)
        other = variant(transformation, program.text, program.facts, Random(seed))
        answer = evaluate(typed(program.text), program.facts)
        assert check(typed(other.text), other.facts, other.renamed(answer)) == [], (
            f"seed {seed}\n{program}\n---\n{other.text}"
        )

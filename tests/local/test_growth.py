"""What must grow in the midst of a run, and runs that stop everywhere and go on."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from tests.local.reference import (
    Facts,
    call,
    constant,
    declare,
    facts_of,
    hold,
    instances,
    number,
    put,
    table,
)
from tests.local.rules import random_rule
from tests.local.test_seam import World, check_apply, check_derive, new_engine
from tidelog import Database
from tidelog.local import executor
from tidelog.local.dictionary import Dictionary
from tidelog.local.engine import LocalEngine
from tidelog.program.rules import Constraint, Literal, Relation, Rule
from tidelog.program.syntax import Variable

x, y, z, u = (number(name) for name in "xyzu")


def closure(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    paths, fresh = set(edges), set(edges)
    while fresh:
        fresh = {(a, d) for a, b in fresh for c, d in edges if b == c} - paths
        paths |= fresh
    return paths


@pytest.mark.parametrize("ticks", [2, 3, 5, 17, 50])
def test_pauses_change_nothing(ticks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "TICKS", ticks)
    for seed in range(15):
        world = World(100 * ticks + seed, size=40)
        for exact in (True, False):
            rules = [random_rule(world.random, exact=exact) for _ in range(2)]
            check_apply(world, rules, count=exact)
            n = frozenset(world.random.sample(sorted(world.facts["I"]), len(world.facts["I"]) // 2))
            check_derive(world, rules, n, hold(world.engine, n), exact)


def test_one_step_at_a_time_still_advances(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little work a run may do between two looks at the clock, it does some."""
    monkeypatch.setattr(executor, "TICKS", 1)
    engine = new_engine()
    put(engine, {("b", (1, 2)), ("b", (2, 3))}, engine.all)
    looks = 0

    def tick(rule: Rule | None) -> None:
        nonlocal looks
        looks += 1
        assert looks < 1000, "the run does not advance"

    engine.watch(tick)
    rule = Rule(Literal("p", (x, z)), (Literal("b", (x, y)), Literal("b", (y, z))))
    assert facts_of(engine, engine.apply([rule], within=engine.all)) == {("p", (1, 3))}


@pytest.mark.parametrize("ticks", [2, 7, 20_000_000])
def test_tables_grow_while_a_run_goes_on(ticks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads of one to five columns, from none to thousands, by every way of emitting."""
    monkeypatch.setattr(executor, "TICKS", ticks)
    size = 30 if ticks < 100 else 90
    engine = LocalEngine()
    declare(engine, {"a": 1, "b": 2, "h1": 1, "h2": 2, "h2b": 2, "h3": 3, "h5": 5})
    put(engine, {("a", (n,)) for n in range(size)}, engine.all)
    put(engine, {("b", (n % 3, n)) for n in range(size)}, engine.all)
    n = Variable("n", kind="number")
    rules = [
        Rule(Literal("h2", (x, y)), (Literal("a", (x,)), Literal("a", (y,)))),
        Rule(Literal("h2b", (x, z)), (Literal("b", (y, x)), Literal("b", (y, z)))),
        Rule(Literal("h3", (x, y, z)), (Literal("b", (z, x)), Literal("b", (z, y)))),
        Rule(
            Literal("h1", (n,)),
            (
                Literal("a", (x,)),
                Literal("a", (y,)),
                Constraint("=", n, call("+", call("*", x, constant(1 << 33)), y)),
            ),
        ),
        Rule(Literal("h5", (x, y, x, z, y)), (Literal("b", (z, x)), Literal("b", (z, y)))),
    ]
    facts: Facts = facts_of(engine, engine.all)
    expected = {head for rule in rules for head, _ in instances(rule, facts, facts)}
    I = engine.all
    for guard in (None, ~I, None):  # the second run meets rows that are in no set
        found = engine.apply(rules, within=I, guard=guard)
        assert facts_of(engine, found) == expected
        del found
    # Rows that exist and join the result: their list grows too.
    rules = [rule for rule in rules if rule.head.relation != "h1"]  # a product for each head
    expected = {fact for fact in expected if fact[0] != "h1"}
    F = hold(engine, expected)
    assert facts_of(engine, engine.provable(rules, F, within=I)) == expected
    assert facts_of(engine, engine.support(rules, F, within=I)) == facts


def test_rows_that_defeat_the_first_multiplier() -> None:
    """Pairs that all begin their search at one slot: the table tries another multiplier."""
    first = 0x9E3779B97F4A7C15
    inverse = pow(first & 0xFFFFFFFF, -1, 1 << 32)
    ids = [i for k in range(1, 8000) if (i := k * inverse % (1 << 32)) < 1 << 31]
    engine = LocalEngine()
    declare(engine, {"e": 2, "p": 2})
    put(engine, {("p", (i - (1 << 30), 0)) for i in ids}, engine.all)
    put(engine, {("e", (i, i + 1)) for i in range(3000)}, engine.all)
    rule = Rule(Literal("p", (x, y)), (Literal("e", (x, y)),))
    found = facts_of(engine, engine.apply([rule, rule], within=engine.all))
    assert found == {("p", (i, i + 1)) for i in range(3000)}


@pytest.mark.parametrize("width", [3, 5, 20, 300])
def test_wide_relations(width: int) -> None:
    random = Random(width)
    engine = LocalEngine()
    declare(engine, {"wide": width, "head": width, "ends": 2, "key": 4})
    rows = [tuple(random.randrange(3) for _ in range(width)) for _ in range(200)]
    put(engine, {("wide", row) for row in rows}, engine.all)
    names = [Variable(f"v{i}", kind="number") for i in range(width)]
    turned = Rule(Literal("head", tuple(names[::-1])), (Literal("wide", tuple(names)),))
    found = engine.apply([turned], within=engine.all, guard=~engine.all)
    assert facts_of(engine, found) == {("head", row[::-1]) for row in rows}
    engine.all.__ior__(found)
    # A key of all columns but one, hashed where it is longer than two.
    other = Variable("w", kind="number")
    joined = Rule(
        Literal("ends", (names[-1], other)),
        (Literal("wide", tuple(names)), Literal("wide", (*names[:-1], other))),
    )
    ends = {("ends", (a[-1], b[-1])) for a in rows for b in rows if a[:-1] == b[:-1]}
    before = engine.instances
    assert facts_of(engine, engine.apply([joined], within=engine.all)) == ends
    pairs = sum(a[:-1] == b[:-1] for a in set(rows) for b in set(rows))
    assert engine.instances - before == pairs
    D = hold(engine, {("wide", row) for row in rows[::2]})
    left = set(rows) - set(rows[::2])
    ends = {("ends", (a[-1], b[-1])) for a in left for b in left if a[:-1] == b[:-1]}
    assert facts_of(engine, engine.apply([joined], within=engine.all - D)) == ends
    assert engine.holds(engine.kinds["wide"], rows[0])


# Slow (15 s): planner._Builder.columns compares every wildcard with all that follow.
def test_ten_thousand_columns() -> None:
    width = 10_000
    columns = ", ".join(f"c{i}: number" for i in range(width))
    names = ", ".join(f"v{i}" for i in range(width))
    wild = ", ".join("_" for _ in range(width - 2))
    text = f"""
    .decl wide({columns})
    .decl copy({columns})
    copy({names}) :- wide({names}).
    ends(x, y) :- copy(x, {wild}, y).
    """
    rows = [tuple(range(n, n + width)) for n in range(3)]
    db = Database(text, facts={"wide": rows})
    assert db.relation("copy").rows() == rows
    assert db.relation("ends").rows() == [(n, n + width - 1) for n in range(3)]
    assert rows[1] in db.relation("copy")
    assert db.query("ends(1, x)") == [(width,)]


@pytest.mark.parametrize("columns", [3, 4, 6])
def test_keys_of_three_and_more_columns(columns: int) -> None:
    random = Random(columns)
    engine = LocalEngine()
    declare(engine, {"e": columns + 1, "f": columns + 1, "p": 2})
    rows = {
        name: {(*(random.randrange(2) for _ in range(columns)), n) for n in range(150)}
        for name in "ef"
    }
    for name, listed in rows.items():
        put(engine, {(name, row) for row in listed}, engine.all)
    key = tuple(Variable(f"k{i}", kind="number") for i in range(columns))
    rule = Rule(Literal("p", (x, y)), (Literal("e", (*key, x)), Literal("f", (*key, y))))
    expected = {("p", (a[-1], b[-1])) for a in rows["e"] for b in rows["f"] if a[:-1] == b[:-1]}
    assert facts_of(engine, engine.apply([rule], within=engine.all)) == expected
    assert engine.instances == len(expected)


NUMBERS = [0, 1, -1, (1 << 30) - 1, 1 << 30, -(1 << 30), -(1 << 30) - 1, (1 << 31), 1 << 40]
NUMBERS += [-(1 << 40), (1 << 63) - 1, -(1 << 63)]
UNSIGNED = [0, 1, (1 << 30) - 1, 1 << 30, 1 << 31, 1 << 63, (1 << 64) - 1, (1 << 64) - (1 << 30)]
FLOATS = [0.0, 1.5, -1.5, 1e308, -1e-308, 5e-324, float("inf"), float("-inf"), 2.0**62]


def test_values_of_every_size_come_back() -> None:
    text = """
    .decl n(x: number)  .decl u(x: unsigned)  .decl f(x: float)  .decl s(x: symbol)
    .decl all(a: number, b: unsigned, c: float, d: symbol)
    all(a, b, c, d) :- n(a), u(b), f(c), s(d).
    """
    symbols = ["", "a", "é", "\U0001f600", "a\tb\n", '"']
    facts = {
        "n": [(v,) for v in NUMBERS],
        "u": [(v,) for v in UNSIGNED],
        "f": [(v,) for v in FLOATS],
        "s": [(v,) for v in symbols],
    }
    db = Database(text, facts=facts)
    expected = {(a, b, c, d) for a in NUMBERS for b in UNSIGNED for c in FLOATS for d in symbols}
    found = db.relation("all").rows()
    assert len(found) == len(expected)
    assert set(found) == expected
    assert all((v,) in db.relation("n") for v in NUMBERS)
    assert all((v,) in db.relation("u") for v in UNSIGNED)
    assert all((v,) in db.relation("f") for v in FLOATS)
    assert (12345678901,) not in db.relation("n")
    assert (-0.0,) in db.relation("f")
    for v in NUMBERS:
        assert db.query(f"n({v})") == [()]


def test_large_words_grow_the_dictionary_within_a_run() -> None:
    text = ".decl a(x: number)\np(x * 10000000000 + y) :- a(x), a(y).\nq(x + 1) :- p(x)."
    db = Database(text, facts={"a": [(n,) for n in range(1, 101)]})
    expected = sorted(a * 10_000_000_000 + b for a in range(1, 101) for b in range(1, 101))
    assert [row[0] for row in db.relation("p")] == expected
    assert [row[0] for row in db.relation("q")] == [value + 1 for value in expected]


def test_growth_of_a_closure_equals_brute_force() -> None:
    random = Random(7)
    edges = {(random.randrange(150), random.randrange(150)) for _ in range(300)}
    db = Database("p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).", facts={"e": sorted(edges)})
    assert set(db.relation("p")) == closure(edges)


def ordered(dictionary: Dictionary) -> bool:
    dictionary.order_symbols()
    labels = dictionary._labels
    words = sorted(dictionary.strings)
    place = {text: int(labels[dictionary.symbol(text)]) for text in words}
    return all(place[a] < place[b] for a, b in pairwise(words))


def test_labels_follow_the_order_of_symbols() -> None:
    random = Random(3)
    dictionary = Dictionary()
    assert ordered(dictionary)
    for size in (1, 50, 3, 1, 200, 10, 1, 1, 1, 20):
        for _ in range(size):
            dictionary.symbol("".join(random.choices("abé\U0001f600z", k=random.randrange(6))))
        assert ordered(dictionary)


def test_labels_between_neighbours_run_out() -> None:
    """Always between the same two: after some sixty there is no label left between them."""
    dictionary = Dictionary()
    for n in range(1000):
        dictionary.symbol(f"k{n:04}")
    assert ordered(dictionary)
    text = "k0500"
    for _ in range(150):
        text += "a"  # after the one before, and before k0501
        dictionary.symbol(text)
        assert ordered(dictionary)
    low = "k0700"
    for n in range(150):
        low = "k0700" + "!" * (200 - n)  # before the one before
        dictionary.symbol(low)
        assert ordered(dictionary)


def test_comparison_of_symbols_that_arrive_later() -> None:
    engine = LocalEngine()
    symbol = lambda name: Variable(name, kind="symbol")  # noqa: E731
    engine.declare(Relation("s", ("a",), ("symbol",)))
    engine.declare(Relation("lt", ("a", "b"), ("symbol", "symbol")))
    a, b = symbol("a"), symbol("b")
    rule = Rule(
        Literal("lt", (a, b)), (Literal("s", (a,)), Literal("s", (b,)), Constraint("<", a, b))
    )
    words: list[str] = []
    random = Random(11)
    for _ in range(12):
        words += ["".join(random.choices("abc", k=4)) for _ in range(5)]
        engine.load("s", table(("symbol",), [(w,) for w in words]), (engine.all,))
        found = facts_of(engine, engine.apply([rule], within=engine.all))
        assert found == {("lt", (v, w)) for v in words for w in words if v < w}


def test_many_symbols() -> None:
    words = [f"w{n}" for n in range(20_000)]
    db = Database('p(x) :- s(x), x < "w2".', facts={"s": [(w,) for w in words]})
    assert set(db.relation("p")) == {(w,) for w in words if w < "w2"}
    assert db.size("s") == len(words)


def test_many_relations_and_rules() -> None:
    """Tables of relations and of indexes grow too."""
    chain = "\n".join(f"p{n + 1}(x, y) :- p{n}(y, z), p0(z, x)." for n in range(200))
    db = Database(chain, facts={"p0": [(1, 1), (1, 2), (2, 1)]})
    assert all(db.size(f"p{n}") > 0 for n in range(201))

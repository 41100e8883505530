"""Programs that are extreme in one respect: rounds, rules, and what the removal of a rule deletes.

Seconds are CPU time with the kernels loaded, the minimum of some runs in turns.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.language.cases import Case, Figures, best_of
from bench.report import Target
from tidelog import Database
from tidelog.cli import main

ROUNDS = {False: 1_000_000, True: 10_000}
# Soufflé's test independent_body3: neither c nor d shares a variable with the rest of the body.
SMALL_ROUNDS = """\
b(0). c(1). c(2). d(1). d(2).
a(x) :- b(x), c(y), d(y).
b(x + 1) :- a(x), x < {last}.
"""
ONE_ROUND = """\
n(range(0, {last} + 1)). c(1). c(2). d(1). d(2).
a(x) :- b(x), c(y), d(y).
b(x) :- n(x).
"""
MOST_SECONDS = 2

RULES = {False: 10_000, True: 300}
TIMES = 10  # the larger program has this many times the rules
MOST_TIMES = 15

FACTS, STEPS = {False: 300_000, True: 10_000}, 5
MOST_OF_RECOMPUTING = 1.3


def cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def rounds(quick: bool) -> Figures:
    """Facts derived one per round, beside as many in one round."""
    last = ROUNDS[quick]
    many, one = (text.format(last=last) for text in (SMALL_ROUNDS, ONE_ROUND))
    for text in (SMALL_ROUNDS, ONE_ROUND):
        Database(text.format(last=10))
    mine, beside = best_of(
        3, lambda: cpu(lambda: Database(many)), lambda: cpu(lambda: Database(one))
    )
    found, expected = Database(many), Database(one)
    assert found["a"].to_arrow().equals(expected["a"].to_arrow())
    return Figures(
        "rounds of one new fact",
        5,
        found.size("a") + found.size("b"),
        (f"{2 * last:,} rounds", "a few rounds"),
        (mine, beside),
        Target(
            f"{2 * last:,} rounds of one new fact in at most {MOST_SECONDS} seconds",
            mine <= MOST_SECONDS,
            f"{mine:.2f} s",
        ),
    )


def joins(rules: int) -> list[str]:
    """Rules over a hundredth as many relations, which depend on each other at random."""
    relations = max(rules // 100, 10)
    lines = [f".decl r{i}(x: number, y: number)\nr{i}({i}, {i})." for i in range(relations)]
    for i in range(rules):
        head, one, other = i % relations, i * 7 % relations, i * 13 % relations
        lines.append(f"r{head}(x, z) :- r{one}(x, y), r{other}(y, z), x != {i}.")
    return lines


def of_one_relation(rules: int) -> list[str]:
    return [".decl q(x: number)", *(f"p(x) :- q(x), x != {i}." for i in range(rules))]


def in_a_chain(rules: int) -> list[str]:
    return [".decl p0(x: number)", *(f"p{i + 1}(x) :- p{i}(x)." for i in range(rules))]


def in_strata(rules: int) -> list[str]:
    """Each relation negates the one before it."""
    given = ".decl q(x: number) .decl p0(x: number)"
    return [given, *(f"p{i + 1}(x) :- q(x), !p{i}(x)." for i in range(rules))]


def in_components(rules: int) -> list[str]:
    """Pairs of relations that depend on each other, on those of the pair before, and negate it."""
    lines = [".decl b0(x: number, y: number)"]
    for i in range(rules // 4):
        below, a, b = f"b{i}", f"a{i + 1}", f"b{i + 1}"
        lines += [f"{a}(x, y) :- {below}(x, y).", f"{a}(x, z) :- {b}(x, y), {a}(y, z)."]
        lines += [f"{b}(x, y) :- {a}(y, x).", f"{b}(x, z) :- {b}(x, y), {a}(y, z), !{below}(x, z)."]
    return lines


SHAPES = {
    "check of many rules": joins,
    "check of many rules of one relation": of_one_relation,
    "check of a chain of rules": in_a_chain,
    "check of many strata": in_strata,
    "check of many recursive components": in_components,
}


def checks(title: str, quick: bool) -> Figures:
    """`tidelog check` of many rules, beside a tenth as many."""
    few = RULES[quick]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{n}.dl" for n in (few * TIMES, few)]
        for path, rules in zip(paths, (few * TIMES, few), strict=True):
            path.write_text("\n".join(SHAPES[title](rules)) + "\n")

        def check(path: Path) -> None:
            with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
                assert main(["check", str(path)]) == 0

        large, small = best_of(2, *(lambda p=path: cpu(lambda: check(p)) for path in paths))
    return Figures(
        title,
        0,
        0,
        (f"{few * TIMES:,} rules", f"{few:,} rules"),
        (large, small),
        Target(
            f"{title}: {TIMES} times as many in at most {MOST_TIMES} times the time",
            large <= MOST_TIMES * small,
            f"{large / small:.1f} times",
        ),
    )


def removal(quick: bool) -> Figures:
    """A rule without which most facts cease to hold, removed by `auto` and by recomputing."""
    facts = {"given": [(x,) for x in range(FACTS[quick])], "other": [(-1,)]}
    first = "s0(x) :- given(x)."
    rules = [first, "s0(x) :- other(x).", *(f"s{i}(x) :- s{i - 1}(x)." for i in range(1, STEPS))]

    def removed(algorithm: str) -> tuple[float, Database]:
        db = Database("\n".join(rules), facts=facts, algorithm=algorithm)
        return cpu(lambda: _remove(db, first)), db

    databases: dict[str, Database] = {}

    def run(algorithm: str) -> float:
        seconds, databases[algorithm] = removed(algorithm)
        return seconds

    mine, beside = best_of(3, lambda: run("auto"), lambda: run("recompute"))
    last = f"s{STEPS - 1}"
    assert list(databases["auto"][last]) == list(databases["recompute"][last]) == [(-1,)]
    return Figures(
        "removal of a rule that derives most facts",
        FACTS[quick] + 1,
        STEPS * (FACTS[quick] + 1),
        ("auto", "recompute"),
        (mine, beside),
        Target(
            f"removing a rule that derives most facts in at most {MOST_OF_RECOMPUTING} times "
            "the time of recomputing",
            mine <= MOST_OF_RECOMPUTING * beside,
            f"{mine / beside:.2f} times",
        ),
    )


def _remove(db: Database, rule: str) -> None:
    with db.transaction() as tx:
        tx.remove_rule(rule)


CHECKS = ("rules", "rules-one", "rules-chain", "rules-strata", "rules-components")
CASES = (
    Case("rounds", rounds),
    *(Case(name, partial(checks, title)) for name, title in zip(CHECKS, SHAPES, strict=True)),
    Case("removal", removal),
)

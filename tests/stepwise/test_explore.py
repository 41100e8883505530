"""Fully dynamic maintenance: every interleaving ends, and ends right; broken versions do not."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from bench.stepwise import interleavings
from bench.stepwise.dynamic import Case, Dynamic, Move, Scheduler, State, run
from bench.stepwise.dynamic_bf import BackwardForward
from bench.stepwise.dynamic_counting import Counting
from bench.stepwise.dynamic_dred import DRed
from bench.stepwise.examples import CLOSURE, EXAMPLES, facts, generated, graph, program, update
from bench.stepwise.explore import Version, explore
from bench.stepwise.matching import closure
from tests.stepwise import broken

VERSIONS: tuple[type[Dynamic], ...] = (DRed, Counting, BackwardForward)
CASES = 60  # generated, explored whole
MOST = 100_000  # states of one case
RUNS = 25  # of each version, on cases too large to explore


def assert_right(version: Version, case: Case) -> None:
    found = explore(version, case, most=MOST)
    assert not found.wrong, str(found.wrong[0])
    assert found.complete
    assert found.states > 1
    assert found.paths >= 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_the_paper(version: Version, example: str) -> None:
    assert_right(version, EXAMPLES[example])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", VERSIONS)
def test_generated_cases(version: Version) -> None:
    for seed in range(CASES):
        assert_right(version, generated(seed))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", range(3))
def test_closures(version: Version, seed: int) -> None:
    assert_right(version, graph(seed, CLOSURE, nodes=3, count=2, most=1))


def at_random(rng: random.Random, patience: float) -> Scheduler:
    """Any move, where arrivals come early or late."""

    def choose(s: State, moves: Sequence[Move]) -> Move:
        arrivals = [move for move in moves if move.kind == "arrive"]
        others = [move for move in moves if move.kind != "arrive"]
        if arrivals and (not others or rng.random() > patience):
            return arrivals[0]
        return rng.choice(others)

    return choose


@pytest.mark.parametrize("version", VERSIONS)
def test_random_runs(version: Version) -> None:
    """Cases too large to explore, one run each."""
    for seed in range(RUNS):
        rng = random.Random(seed)
        case = graph(seed, CLOSURE, nodes=4, count=4, most=3)
        end = run(version(case), at_random(rng, rng.choice((0.1, 0.8, 0.98))))
        right = closure(case.rules, case.explicit(len(case.updates)))
        assert right == end.I, seed


def test_an_arrival_is_always_possible() -> None:
    """No update has to wait for the one before."""
    case = EXAMPLES["1"]
    for version in VERSIONS:
        dynamic = version(case)
        s = dynamic.start()
        for _ in case.updates:
            s = next(move for move in dynamic.moves(s) if move.kind == "arrive").after
        assert all(move.kind != "arrive" for move in dynamic.moves(s))


def test_a_deletion_that_is_taken_back_in_time_deletes_nothing() -> None:
    """Example 4, with both updates at once: only the two operations meet."""
    for version in VERSIONS:
        dynamic = version(EXAMPLES["4"])
        s = dynamic.start()
        for _ in range(2):
            s = next(move for move in dynamic.moves(s) if move.kind == "arrive").after
        cancel = next(move for move in dynamic.moves(s) if move.kind == "cancel")
        assert cancel.what == "del(a())"
        assert not dynamic.moves(cancel.after)


# What the checker must find, or it finds nothing.


def test_adding_too_early_goes_round_for_ever() -> None:
    """The paper's Example 1, its third outcome: no overtaking."""
    assert explore(broken.HastyDRed, EXAMPLES["1"]).errors() == {"a state again"}


def test_adding_too_early_adds_what_does_not_hold() -> None:
    """The paper's Example 1, its second outcome: addition overtakes deletion."""
    found = explore(broken.CredulousDRed, EXAMPLES["1"], errors=1000)
    assert "invalid addition" in found.errors()
    kept = {str(wrong.fact) for wrong in found.wrong if wrong.error == "invalid addition"}
    assert "a()" in kept


def test_counting_without_memory_deletes_what_holds() -> None:
    """The paper's Example 3: c is derived by d alone, and goes with a."""
    found = explore(broken.ForgetfulCounting, EXAMPLES["3"])
    assert found.errors() == {"invalid deletion"}
    assert {str(wrong.fact) for wrong in found.wrong} == {"c()"}


def test_counting_circles_keeps_what_does_not_hold() -> None:
    """a, b and c hold each other up when a is no longer explicit."""
    case = Case(EXAMPLES["1"].rules, facts("a"), (update(deleted="a"),))
    found = explore(broken.RanklessCounting, case)
    assert found.errors() == {"omitted deletion"}
    assert {str(wrong.fact) for wrong in found.wrong} == {"a()", "b()", "c()"}


def test_old_proofs_keep_what_does_not_hold() -> None:
    """b is proved by d, which goes while the proof is still believed."""
    updates = update(deleted="a"), update(deleted="d")
    case = Case(program("a -> b", "d -> b"), facts("a d"), updates)
    assert explore(broken.TrustingBackwardForward, case).errors() == {"omitted deletion"}
    assert_right(BackwardForward, case)


def test_deleting_what_has_become_explicit_goes_on_for_ever() -> None:
    """The checker found this in an earlier version of ours."""
    case = Case(program("a -> b"), facts("a"), (update(deleted="a"), update(inserted="b")))
    assert explore(broken.StubbornBackwardForward, case).errors() == {"a state again"}
    assert_right(BackwardForward, case)


@pytest.mark.slow
def test_the_table_of_interleavings(capsys: pytest.CaptureFixture[str]) -> None:
    assert interleavings.main(["--cases", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| Example 1 | DRed | 92 | 582 | 0 | yes |" in lines
    assert len(lines) == 2 + 3 * (len(EXAMPLES) + 2)

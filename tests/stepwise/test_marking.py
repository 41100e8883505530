"""B/F and DRed with marking: the paper's examples, and the law with marks and without."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from bench.stepwise.bf_in_turn import InTurn, MarkedFirst
from bench.stepwise.bf_marking import BackwardForward
from bench.stepwise.dred_marking import DeleteRederive
from bench.stepwise.examples import changes, facts, graph, program, update
from bench.stepwise.marking import Marking, Update
from bench.stepwise.matching import Fact, Rules, closure

ALGORITHMS: tuple[type[Marking], ...] = (BackwardForward, InTurn, MarkedFirst, DeleteRederive)
SEEDS = 40

LINEAR = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
"""
SEQUENCE = """
.decl edge(x: number, y: number)
.decl one(x: number, y: number)
.decl two(x: number, y: number)
one(x, y) :- edge(x, y).
two(x, y) :- one(x, y).
"""
MIXED = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.decl both(x: number, y: number)
path(x, y) :- edge(x, y), x != y.
path(x, z) :- path(x, y), path(y, z).
both(x, y) :- path(x, y), edge(y, x).
both(y, x) :- both(x, y), edge(x, x).
"""


def names(some: object) -> set[str]:
    return {fact.relation for fact in some}  # type: ignore[attr-defined]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_example_1(algorithm: type[Marking]) -> None:
    """b is marked when it is derived, and no rule is needed to see that it is affected."""
    rules = program("a1 a2 -> b")
    stream = [update(inserted="a2"), update(deleted="a1")]
    marking, classical = (algorithm(rules, facts("a1"), looks=looks) for looks in (True, False))
    for one in (marking, classical):
        assert list(map(names, one.process(stream))) == [{"a1", "a2", "b"}, {"a2"}]
    affected = "overdeletion" if algorithm is DeleteRederive else "deletions"
    assert marking.counts[affected] == 0
    assert classical.counts[affected] == 1


def test_example_2() -> None:
    """b has another derivation; its consequence c is never looked at by deletion."""
    rules = program("a1 a2 -> b", "a3 -> b", "b -> c")
    bf = BackwardForward(rules, facts("a1 a2 a3 b c"))
    blocks = ""
    for block in bf.steps([update(deleted="a1")]):
        blocks += block
        if blocks == "cbbaa":
            assert names(bf.C) == names(bf.P) == {"b", "a3"}
            assert (names(bf.Y), names(bf.D), names(bf.W)) == ({"c"}, {"a1"}, set())
    assert blocks == "cbbaaeg"
    assert names(bf.I) == {"a2", "a3", "b", "c"}
    assert bf.counts == {"deletions": 1, "backward": 1, "forward": 2}


def test_example_3() -> None:
    """The paper's walk through Algorithm 1, set by set."""
    rules = program("a1 a2 -> b", "a3 -> b", "b -> c", "c a4 -> d")
    bf = BackwardForward(rules, facts("a1 a2 a3 b c"))
    steps = bf.steps([update(deleted="a1", inserted="a4"), update(deleted="a4")])

    assert next(steps) == "c"  # block c) adds b to W
    assert (names(bf.D), list(bf.W), names(bf.marked)) == ({"a1"}, [Fact("b")], {"a4"})
    assert next(steps) == "b"  # backward chaining adds a3 to W
    assert list(bf.W) == [Fact("b"), Fact("a3")]
    assert next(steps) == "b"  # a3 is explicit, hence proved
    assert (list(bf.W), names(bf.P), names(bf.C)) == ([Fact("b")], {"a3"}, {"a3"})
    assert next(steps) == "a"  # forward chaining proves b
    assert (list(bf.W), names(bf.P), names(bf.C)) == ([], {"a3", "b"}, {"a3", "b"})
    assert next(steps) == "a"  # and delays c
    assert (names(bf.Y), names(bf.P)) == ({"c"}, {"a3", "b"})
    assert next(steps) == "e"
    assert names(bf.I) == {"a2", "a3", "b", "c", "a4"}
    assert next(steps) == "f"  # d is derived and marked
    assert (names(bf.I), names(bf.marked)) == ({"a2", "a3", "b", "c", "a4", "d"}, {"a4", "d"})
    assert next(steps) == "g"
    assert (names(bf.D), list(bf.W), names(bf.marked)) == ({"a4"}, [Fact("d")], set())
    assert not bf.C | set(bf.P) | bf.Y

    assert next(steps) == "b"  # the second update begins with b)
    assert (names(bf.C), names(bf.P), list(bf.W)) == ({"d"}, set(), [])
    assert next(steps) == "d"
    assert names(bf.D) == {"a4", "d"}
    assert next(steps) == "e"
    assert names(bf.I) == {"a2", "a3", "b", "c"}
    assert list(steps) == ["g"]
    assert bf.counts == {
        "deletions": 1,
        "backward": 1,
        "forward": 2,
        "insertions": 1,
        "explicit": 1,
        "implicit": 1,
    }


def with_delays(stream: tuple[Update, ...], rng: random.Random) -> Iterator[Update | None]:
    """Updates that are sometimes not there yet."""
    for each in stream:
        while rng.random() < 0.5:
            yield None
        yield each


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", [LINEAR, SEQUENCE, MIXED])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_law(algorithm: type[Marking], text: str) -> None:
    """After every update it is the closure, with marks and without, in time and delayed."""
    for seed in range(SEEDS):
        rng = random.Random(seed)
        case = graph(seed, text, nodes=4, count=6, most=rng.choice((2, 5)))
        start = closure(case.rules, case.start)
        right = [closure(case.rules, case.explicit(n + 1)) for n in range(len(case.updates))]
        for looks in (True, False):
            for stream in (case.updates, with_delays(case.updates, rng)):
                one = algorithm(case.rules, sorted(start), looks)
                assert list(one.process(stream)) == right, (seed, looks)


def test_the_law_on_generated_rules() -> None:
    for seed in range(SEEDS):
        rng = random.Random(seed)
        implicit = "uvwxyz"
        rules = program(
            *(
                f"{' '.join(rng.sample('abcd' + implicit, rng.choice((1, 2, 2))))}"
                f" -> {rng.choice(implicit)}"
                for _ in range(8)
            )
        )
        stream = tuple(changes(rng, facts("a b c d"), (), 6, 3))
        E, right = set[Fact](), []
        for deleted, inserted in stream:
            E = (E - set(deleted)) | set(inserted)
            right.append(closure(rules, E))
        for algorithm in ALGORITHMS:
            for looks in (True, False):
                assert list(algorithm(rules, looks=looks).process(stream)) == right, seed


def played(
    algorithm: type[Marking], rules: Rules, case_seed: int, text: str
) -> tuple[Marking, ...]:
    case = graph(case_seed, text, nodes=6, count=12, most=8)
    start = sorted(closure(rules, case.start))
    both = tuple(algorithm(rules, start, looks) for looks in (False, True))
    for one in both:
        assert len(list(one.process(case.updates))) == len(case.updates)
    return both


@pytest.mark.sampled(1)
@pytest.mark.parametrize("text", [LINEAR, SEQUENCE, MIXED])
def test_a_mark_of_dred_saves_exactly_one_application(text: str) -> None:
    total = 0
    for seed in range(SEEDS):
        old, new = (one.counts for one in played(DeleteRederive, Rules.read(text), seed, text))
        assert new["overdeletion"] == old["overdeletion"] - new["negative implicit"]
        assert new["insertion"] == old["insertion"] - new["positive implicit"]
        assert new["rederivation"] == old["rederivation"]
        total += new["positive implicit"] * new["negative implicit"]
    assert total > 0


def test_a_mark_of_bf_saves_one_application_without_other_derivations() -> None:
    for seed in range(SEEDS):
        old, new = (
            one.counts for one in played(BackwardForward, Rules.read(SEQUENCE), seed, SEQUENCE)
        )
        assert new["deletions"] == old["deletions"] - new["implicit"]
        assert new["backward"] == new["forward"] == old["backward"] == old["forward"] == 0


def test_the_classical_algorithm_never_looks() -> None:
    for algorithm in ALGORITHMS:
        rules = Rules.read(LINEAR)
        old, _ = played(algorithm, rules, 0, LINEAR)
        assert not any(old.counts[kind] for kind in old.counts if "plicit" in kind)

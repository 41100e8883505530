"""Overlapping updates under every interleaving: when updates arrive, and which fact is next.

A run is a list of choices: does the next update arrive now, which of the facts that wait does a
step take. Runs are made one by one, each with other choices, until there are no more; where a run
comes to a state that another one has been in, it ends, because what can follow has been seen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import xor
from typing import NamedTuple

import pytest

from tests.maintain.histories import checked
from tests.maintain.reference import Fact, PyEngine, PySet
from tests.maintain.worlds import Unwatched, World
from tidelog.engine import FactSet, View
from tidelog.maintain.driver import overlap_at_once, overlap_strata, overlap_suspects
from tidelog.maintain.driver.overlap import Noted, OverlappingUpdates, Stepwise
from tidelog.maintain.driver.overlap_strata import stepwise
from tidelog.maintain.memory import Memory
from tidelog.maintain.report import Report
from tidelog.maintain.update import Update
from tidelog.program.rules import Stratum

Change = tuple[tuple[Fact, ...], tuple[Fact, ...]]  # facts that come, and that go
ALGORITHMS = ("dred", "bf", "counting", "auto", "dredc", "recompute")
MANY = 200  # steps, which no run here needs


class Seen(Exception):
    """Another run has been here."""


class Again(AssertionError):
    """A run has come back to where it was."""


class Book(NamedTuple):
    strata: Sequence[Stratum]
    stratum_of: Mapping[str, int]
    readers: Mapping[str, set[str]]


@dataclass
class Choices:
    """The choices of a run: those of a list, and the first possible one after it."""

    given: list[int]
    made: list[tuple[int, int]] = field(default_factory=list)  # which, and of how many

    def among(self, count: int) -> int:
        place = len(self.made)
        which = self.given[place] if place < len(self.given) else 0
        self.made.append((which, count))
        return which

    @property
    def new(self) -> bool:
        return len(self.made) >= len(self.given)

    def following(self) -> list[int] | None:
        """The next run's, in order."""
        made = list(self.made)
        while made:
            which, count = made.pop()
            if which + 1 < count:
                return [*(w for w, _ in made), which + 1]
        return None


class Choosing(PyEngine):
    """The reference engine; what it takes out of a set is a choice."""

    choices: Choices

    def cut(self, facts: FactSet, count: int, relations: Sequence[str]) -> PySet:
        assert isinstance(facts, PySet)
        mine = sorted((fact for fact in facts.facts if fact[0] in relations), key=repr)
        return self._chosen(facts, mine, count)

    def _chosen(self, facts: PySet, mine: list[Fact], count: int) -> PySet:
        if len(mine) > count == 1:
            mine = [mine[self.choices.among(len(mine))]]
        facts.facts.difference_update(mine[:count])
        return self._new(mine[:count])

    def some(self, view: View, count: int) -> PySet:
        found = super().some(view, len(self.all.facts) + 100)
        if len(found.facts) > count == 1:
            mine = sorted(found.facts, key=repr)
            return self._new([mine[self.choices.among(len(mine))]])
        return super().some(view, count)


@dataclass
class Explored:
    states: int = 0
    runs: int = 0


class Case:
    """A program and updates of it, to be played in every way."""

    def __init__(self, text: str, facts: Sequence[Fact], updates: Sequence[Change]) -> None:
        self.core = checked(text)
        self.facts, self.updates = facts, updates
        self.right = []
        E = set(facts)
        for came, went in updates:
            E = (E - set(went)) | set(came)
            self.right.append(World(self.core.relations.values(), self.core.rules, E).state)

    def explore(self, algorithm: str, steps: type[Stepwise] | None = None) -> Explored:
        found, seen = Explored(), set[object]()
        given: list[int] | None = []
        while given is not None:
            choices = Choices(given)
            found.runs += 1
            try:
                self.run(algorithm, choices, seen, steps)
            except Seen:
                pass
            except AssertionError as error:
                error.add_note(f"{algorithm}, choices {choices.made}")
                raise
            given = choices.following()
        found.states = len(seen)
        return found

    def run(
        self,
        algorithm: str,
        choices: Choices,
        seen: set[object],
        steps: type[Stepwise] | None,
    ) -> None:
        world = World(self.core.relations.values(), self.core.rules, self.facts, modules=False)
        engine = world.engine
        engine.__class__ = Choosing
        assert isinstance(engine, Choosing)
        engine.choices = choices
        flow = self.flow(world, algorithm, steps)
        flow.size = 1
        arrived, mine = 0, set[object]()
        for _ in range(MANY):
            if flow.settled:
                if arrived:
                    assert world.state == self.right[arrived - 1]
                    assert not world.miscounts()
                if arrived == len(self.updates):
                    return
            else:
                key = (arrived, *state_of(flow))
                if key in mine:
                    raise Again("the same state once more: this would never end")
                mine.add(key)
                if choices.new:
                    if key in seen:
                        raise Seen
                    seen.add(key)
            may_arrive = arrived < len(self.updates)
            if flow.settled or (may_arrive and choices.among(2)):
                self.arrive(world, flow, self.updates[arrived])
                arrived += 1
            else:
                flow.step()
                flow.size = 1
        raise AssertionError("too many steps")

    def flow(
        self, world: World, algorithm: str, steps: type[Stepwise] | None
    ) -> OverlappingUpdates:
        def made(stratum: Stratum, memory: Memory) -> Stepwise:
            if steps is not None and stratum.recursive:
                return steps(stratum)  # type: ignore[call-arg]
            return stepwise(algorithm, stratum, memory)

        stratum_of = {name: i for i, s in enumerate(world.strata) for name in s.relations}
        readers: dict[str, set[str]] = defaultdict(set)
        for stratum in world.strata:
            for rule in stratum.rules:
                for name, _ in rule.reads():
                    readers[name].add(rule.head.relation)
        engine = world.engine
        return OverlappingUpdates(
            *(engine, engine.explicit, engine.all, Unwatched(), world.memory),
            *(Book(world.strata, stratum_of, readers), partial(made), Report()),
        )

    def arrive(self, world: World, flow: OverlappingUpdates, update: Change) -> None:
        E = world.engine.explicit
        came, went = world.engine.none(), world.engine.none()
        world.way.put(set(update[0]) - E.facts, came)  # type: ignore[attr-defined]
        world.way.put(set(update[1]) & E.facts, went)  # type: ignore[attr-defined]
        world.E = (world.E - frozenset(update[1])) | frozenset(update[0])
        E |= came
        E -= went
        flow.join(came, went)


def state_of(flow: OverlappingUpdates) -> tuple[object, ...]:
    sets = (flow.E, flow.I, flow.S, flow.R, flow.N)
    facts = tuple(frozenset(one.facts) for one in sets)  # type: ignore[attr-defined]
    noted = Noted()
    for each in flow._noted.values():
        noted += each
    for some in (flow._reported, noted):
        facts += (reduce(xor, [*some.deleted, *some.inserted], frozenset[Fact]()),)
    pending = tuple(sorted((at, p.deleted, p.inserted) for at, p in flow._pending.items()))
    following = flow._following
    if following is not None:
        at, D, A = following
        pending += ((at, frozenset(D.facts), frozenset(A.facts)),)  # type: ignore[attr-defined]
    inside = tuple(
        (
            *(at, type(getattr(each, "_steps", None))),
            *(getattr(each, name, None) for name in ("X", "T", "F", "L", "present")),
        )
        for at, each in flow._algorithms.items()
    )
    counters = tuple(
        frozenset((f, n) for f, n in counter.numbers.items() if n)  # type: ignore[attr-defined]
        for counter in (flow.engine.nonrecursive, flow.engine.recursive)
    )
    return *facts, pending, inside, counters, tuple(flow._todo)


def unary(names: str) -> tuple[Fact, ...]:
    return tuple((name, (0,)) for name in names.split())


def program(*rules: str) -> str:
    """Rules such as `a -> b`, over relations that may have explicit facts of their own."""
    names = sorted({name for rule in rules for name in rule.replace("->", "").split()})
    written = []
    for rule in rules:
        body, head = rule.split("->")
        atoms = ", ".join(f"{name}(x)" for name in body.split())
        written.append(f"{head.strip()}(x) :- {atoms}.")
    return "\n".join([*(f".decl {name}(x: number)" for name in names), *written])


CYCLE = ("a -> b", "b -> c", "c -> a")
EXAMPLES = {
    "invalid addition": Case(program(*CYCLE), (), [(unary("a"), ()), ((), unary("a"))]),
    "invalid deletion": Case(program(*CYCLE, "d -> a"), unary("a"), [(unary("d"), unary("a"))]),
    "invalid deletion, in two updates": Case(
        program(*CYCLE, "d -> a"), unary("a"), [((), unary("a")), (unary("d"), ())]
    ),
    "deletion without derivation": Case(
        program("a -> b", "a -> c", "d -> c"), (), [(unary("a d"), ()), ((), unary("a"))]
    ),
    "duplicate derivation": Case(
        program("a -> b", "a -> c"), unary("a"), [((), unary("a")), (unary("a"), ())]
    ),
}
MORE = {
    "two new facts": Case(
        program("a b -> c", "c -> a", "c -> b"), (), [(unary("a b"), ()), ((), unary("b"))]
    ),
    "the recursion has another start": Case(
        program(*CYCLE, "d -> b"),
        unary("a d"),
        [((), unary("a")), ((), unary("d")), (unary("a"), ())],
    ),
    "two bodies at once": Case(
        program("a b -> c", "c d -> a", "c -> d"),
        unary("a b"),
        [((), unary("b")), (unary("b c"), unary("a")), ((), unary("c"))],
    ),
    "negation": Case(
        program("a -> b", "b -> c", "c -> b")
        + "\n.decl d(x: number)\ne(x) :- d(x), !c(x).\nf(x) :- e(x).",
        unary("a d"),
        [((), unary("a")), (unary("a"), unary("d"))],
    ),
    "a path": Case(
        ".decl edge(x: number, y: number)\npath(x, y) :- edge(x, y).\n"
        "path(x, z) :- path(x, y), edge(y, z).",
        (("edge", (1, 2)), ("edge", (2, 1))),
        [
            ((("edge", (2, 3)),), (("edge", (1, 2)),)),
            ((("edge", (1, 2)),), (("edge", (2, 1)),)),
        ],
    ),
}


NOT_RECURSIVE = {
    "two derivations": Case(
        program("a -> b", "a -> c", "d -> c"),
        unary("a b d"),
        [((), unary("a")), ((), unary("b d")), (unary("a"), ())],
    ),
    "negation without recursion": Case(
        program("a -> b", "d -> b")
        + "\n.decl e(x: number)\nf(x) :- e(x), !b(x).\nf(x) :- a(x).\ng(x) :- f(x).",
        unary("a e"),
        [((), unary("a")), (unary("d"), ()), (unary("a"), unary("d e"))],
    ),
    "two steps": Case(
        ".decl edge(x: number, y: number)\ntwo(x, z) :- edge(x, y), edge(y, z).",
        (("edge", (1, 2)), ("edge", (2, 3)), ("edge", (1, 4)), ("edge", (4, 3))),
        [((), (("edge", (1, 2)),)), ((("edge", (2, 2)),), (("edge", (4, 3)),))],
    ),
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_the_paper(example: str, algorithm: str) -> None:
    """Illich and Glimm (2023), Examples 1 to 4."""
    found = EXAMPLES[example].explore(algorithm)
    assert found.states >= 3


@pytest.mark.sampled(12)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("case", [*MORE, *NOT_RECURSIVE])
def test_other_cases(case: str, algorithm: str) -> None:
    assert (MORE | NOT_RECURSIVE)[case].explore(algorithm).states > 5


@pytest.mark.parametrize("case", NOT_RECURSIVE)
def test_auto_may_begin_to_count_at_any_step(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(u: Update, *_: object) -> bool:
        assert isinstance(u.engine, Choosing)
        return bool(u.engine.choices.among(2))

    plain = NOT_RECURSIVE[case].explore("auto").states
    monkeypatch.setattr(overlap_strata, "begins_to_count", chosen)
    assert NOT_RECURSIVE[case].explore("auto").states > plain


@pytest.mark.parametrize("case", [*EXAMPLES, *MORE, *NOT_RECURSIVE])
def test_a_part_of_what_changed_at_a_time(case: str) -> None:
    """As strata with modules hear of changes, by evaluation that takes a stratum as a whole."""
    assert (EXAMPLES | MORE | NOT_RECURSIVE)[case].explore(
        "auto", overlap_at_once.Modular
    ).states >= 3


class Hasty(overlap_suspects.Dred):
    """DRed that asks and inserts while there are suspects: the paper's invalid addition."""

    def step(self, flow: OverlappingUpdates) -> bool:
        cut = flow.engine.cut
        if N := cut(flow.N, 1, self.relations):
            self.insert(flow, N)
        elif R := cut(flow.R, 1, self.relations):
            self.rederive(flow, R)
        elif S := cut(flow.S, 1, self.relations):
            self.overdelete(flow, S)
        else:
            return False
        return True


class Careless(overlap_suspects.Dred):
    """DRed that lets rules use facts which could still be cancelled: an omitted deletion."""

    def insert(self, flow: OverlappingUpdates, F: FactSet) -> None:
        rules, I = self.stratum.recursive, flow.I
        self.use(flow, flow.engine.derive(rules, touching=F, within=I, guard=~I))


@pytest.mark.parametrize(
    ("wrong", "case"),
    [(Hasty, EXAMPLES["invalid addition"]), (Careless, MORE["two new facts"])],
)
def test_what_would_go_wrong_is_found(wrong: type[overlap_suspects.Dred], case: Case) -> None:
    """The exploration finds errors where there are some."""
    with pytest.raises(AssertionError):
        case.explore("dred", wrong)

"""The seam: what a maintenance algorithm may ask of an engine.

Algorithms are written once, against this file, over sets of facts. A `View` is an
expression over sets, such as `(I - D) | A`; building one costs nothing. A `FactSet` is
a set that the engine holds; `|=` and `-=` change it.

Rules arrive as `program.rules.Rule`. An instance of a rule is a way to match its body;
its positive literals are read in the view `within`, its negated literals and aggregates
in the view `negative` (the same unless given). Both must lie within sets, as `I - D` does:
a complement such as `~D` holds whatever facts an engine happens to know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tidelog.program.rules import Relation, Rule, Stratum
from tidelog.program.syntax import Kind, Value

Ids = NDArray[np.uint32]  # numbers that stand for values, a line for each fact
Saved = Any  # facts of a set, in a form that an engine chooses


class View:
    """A set of facts, not necessarily held anywhere."""

    __slots__ = ()

    def __or__(self, other: View) -> View:
        return Combination("or", self, other)

    def __and__(self, other: View) -> View:
        return Combination("and", self, other)

    def __sub__(self, other: View) -> View:
        return Combination("and", self, Combination("not", other, other))

    def __invert__(self) -> View:
        return Combination("not", self, self)


@dataclass(frozen=True, slots=True, eq=False)
class Combination(View):
    op: Literal["or", "and", "not"]
    left: View
    right: View


@dataclass(frozen=True, slots=True, eq=False)
class Split(View):
    """Facts of these relations as one view has them, all others as another has them.

    It stands alone, as the view `within` of an evaluator that is given a `negative` too.
    """

    relations: frozenset[str]
    inside: View
    outside: View


class FactSet(View):
    """A set that an engine holds. True where it is not empty; `len` counts its facts."""

    __slots__ = ()

    def __ior__(self, other: View) -> Self:
        raise TypeError(f"{type(self).__name__} does not grow")

    def __isub__(self, other: View) -> Self:
        raise TypeError(f"{type(self).__name__} does not shrink")

    def __bool__(self) -> bool:
        return len(self) > 0

    def __len__(self) -> int:
        raise TypeError(f"{type(self).__name__} has no size")


class Counter:
    """A number for every fact, zero at first."""

    __slots__ = ()


class Taken:
    """Facts that an engine has set aside to compare with those that take their place."""

    __slots__ = ()


class Engine(Protocol):
    """Facts, sets of facts, and the four evaluators.

    `add_to` and `take_from` change a counter by one for the head of every instance, whether
    the guard lets the head into the result or not.
    """

    @property
    def nonrecursive(self) -> Counter:
        """Derivations by nonrecursive rules (C_nr)."""

    @property
    def recursive(self) -> Counter:
        """Derivations by recursive rules (C_r)."""

    @property
    def kinds(self) -> Mapping[str, Relation]:
        """Relations that have been declared, by name."""

    @property
    def instances(self) -> int:
        """Rule instances considered so far."""

    @property
    def lasting(self) -> float:
        """Seconds spent so far on indexes that later work will find."""

    def declare(self, relation: Relation, aside: bool = False) -> object:
        """Make a relation known, such as one that an algorithm keeps for itself. Facts of one that
        stands `aside` do not count as such."""

    def none(self) -> FactSet:
        """A new, empty set."""

    def collect(self, view: View, relations: Sequence[str] | None = None) -> FactSet:
        """The facts of a view (those of some relations only) as a set of their own."""

    def some(self, view: View, count: int) -> FactSet:
        """Facts of a view, `count` of them or all if there are fewer."""

    def cut(self, facts: FactSet, count: int, relations: Sequence[str]) -> FactSet:
        """Facts of these relations, `count` of them or all if there are fewer, which leave the
        set; what that costs follows their number."""

    def relations(self, facts: FactSet) -> Sequence[str]:
        """Names of the relations that the set has facts of."""

    def size(self, relation: str) -> int:
        """How many facts of a relation are in the materialisation."""

    def derive(
        self,
        rules: Sequence[Rule],
        *,
        touching: FactSet,
        within: View,
        guard: View | None = None,
        negative: View | None = None,
        touching_negated: FactSet | None = None,
        add_to: Counter | None = None,
        take_from: Counter | None = None,
    ) -> FactSet:
        """Heads, those in `guard` if given, of the instances whose body lies in `within` and
        meets `touching`; each instance is considered once.

        With `touching_negated`, which must lie outside `negative`, also the instances that meet
        it in a negated literal (the papers' Δ^n), and those with an aggregate over a group to
        which either set has a fact.
        """

    def apply(
        self,
        rules: Sequence[Rule],
        *,
        within: View,
        guard: View | None = None,
        negative: View | None = None,
        add_to: Counter | None = None,
        take_from: Counter | None = None,
    ) -> FactSet:
        """Heads of all instances whose body lies in `within`."""

    def spread(
        self,
        rules: Sequence[Rule],
        N: FactSet,
        into: Sequence[FactSet],
        *,
        within: View,
        guard: View,
        negative: View | None = None,
        add_to: Counter | None = None,
        take_from: Counter | None = None,
        each: Callable[[], bool],
        most: int | None = None,
    ) -> None:
        """Round by round, N joins the sets `into`, and what `derive` gives for facts that touch N
        becomes N; until N is empty, or `each`, which is called before every round, says no.
        It may also end, in the midst of a round, after about `most` instances: N is not empty then.

        The views may be made of N and of the sets: they are seen as they are in each round.
        """

    def provable(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
        older: frozenset[str] | None = None,
    ) -> FactSet:
        """Those of `facts` that have an instance with its body in `within`.

        With `older`, body facts of these relations must have come to the materialisation before
        the fact itself; `date` must have been called for them and for the fact's relation.
        """

    def support(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
        among: Sequence[str] | None = None,
    ) -> FactSet:
        """Body facts (those of the relations `among` only, if given) of the instances in
        `within` whose heads are in `facts`."""

    def whole(self, stratum: Stratum, watch: object) -> bool:
        """Derive a stratum, of which the materialisation has the explicit facts, in a way of the
        engine's own. False, and nothing is done, if it has none."""

    def date(self, relations: Sequence[str]) -> bool:
        """From now on, the order is known in which facts of these relations come to the
        materialisation. Undoing a change restores it. False if the engine knows no order."""

    def undate(self, relations: Sequence[str]) -> None:
        """From now on, that need not be known."""

    def identify(self, kind: Kind, values: Sequence[Value] | NDArray[Any]) -> Ids:
        """The numbers that stand for values of a kind."""

    def ids(self, view: View, relation: str) -> Ids:
        """The facts of a view of a relation, as numbers that stand for values."""

    def pick(self, relation: str, ids: Ids) -> FactSet:
        """The facts that such numbers mean, each once."""

    def ordered(self, relation: str, ids: Ids) -> NDArray[np.int64]:
        """Where the facts that such numbers mean stand, in the order of their values."""

    def worked(self, rule: Rule, seconds: float, facts: int) -> None:
        """Told when something else than the engine has derived facts of a rule."""

    def positive(self, counter: Counter, facts: FactSet) -> FactSet:
        """Those of the facts whose counter is above zero."""

    def reset(self, counter: Counter, relations: Sequence[str]) -> None:
        """Set the counters of all facts of these relations to zero."""

    def take(self, relations: Sequence[str]) -> Taken:
        """Set all facts of these relations aside: they leave the materialisation. Explicit ones
        are put back into it. No other set may hold facts of these relations."""

    def compare(self, taken: Taken) -> tuple[FactSet, FactSet]:
        """Facts that were taken and are not in the materialisation now, and those that are in
        it now and were not taken."""

    def save(self, facts: FactSet) -> Saved:
        """The facts of a set in a form that lasts, and takes no place among the sets."""

    def hold(self, saved: Saved) -> FactSet:
        """A set of facts that were saved."""

    def settle(self, facts: FactSet) -> FactSet:
        """Ends a round: an engine may tidy up what earlier rounds left behind."""


class OverlapEngine(Engine, Protocol):
    """An engine on which updates may overlap."""

    def odd(self, saved: Sequence[Saved]) -> FactSet:
        """The facts that an odd number of these have."""

    def joined(self, saved: Sequence[Saved]) -> Saved:
        """The facts of all of these, of which no two have one in common."""

    def sizes_of(self, saved: Saved) -> Mapping[str, int]:
        """How many facts it has, by relations that it has some of."""

    def as_before(self, gone: FactSet, came: FactSet) -> AbstractContextManager[None]:
        """In the block the materialisation is as it was before these facts went and came. Ages
        stay, and what is undone if need be does not become more. The two sets take no place among
        the sets then, and are not to be used; nor after an error. Their relations must not be set
        aside."""

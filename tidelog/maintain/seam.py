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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self

from tidelog.program.rules import Rule


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


class Engine(Protocol):
    """Facts, sets of facts, and the four evaluators."""

    def none(self) -> FactSet:
        """A new, empty set."""

    def derive(
        self,
        rules: Sequence[Rule],
        *,
        touching: FactSet,
        within: View,
        guard: View | None = None,
        negative: View | None = None,
    ) -> FactSet:
        """Heads, those in `guard` if given, of the instances whose body lies in `within` and
        meets `touching`; each instance is considered once."""

    def apply(
        self,
        rules: Sequence[Rule],
        *,
        within: View,
        guard: View | None = None,
        negative: View | None = None,
    ) -> FactSet:
        """Heads of all instances whose body lies in `within`."""

    def provable(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
    ) -> FactSet:
        """Those of `facts` that have an instance with its body in `within`."""

    def support(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
    ) -> FactSet:
        """Body facts of the instances in `within` whose heads are in `facts`."""

    def settle(self, facts: FactSet) -> FactSet:
        """Ends a round: an engine may tidy up what earlier rounds left behind."""

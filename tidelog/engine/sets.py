"""Sets of facts, and views: expressions over sets, such as `(I - D) | A`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.uint32]  # ids of values, a row for each fact
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
    """Facts that an engine has set aside to compare with those that replace them."""

    __slots__ = ()


class Sets(Protocol):
    """Makes sets, as many as a program needs, and frees those without references."""

    def none(self) -> FactSet:
        """A new, empty set."""

    def collect(self, view: View, relations: Sequence[str] | None = None) -> FactSet:
        """The facts of a view (those of some relations only) as a set of their own."""

    def some(self, view: View, count: int) -> FactSet:
        """Facts of a view, `count` of them or all if there are fewer."""

    def sample(self, view: View, relation: str, count: int) -> FactSet:
        """At most `count` facts of a view of a relation, old and new ones alike; what that costs
        follows `count`."""

    def cut(self, facts: FactSet, count: int, relations: Sequence[str]) -> FactSet:
        """Facts of these relations, `count` of them or all if there are fewer, which leave the
        set; what that costs follows their number."""

    def relations(self, facts: FactSet) -> Sequence[str]:
        """Names of the relations that the set has facts of."""

    def settle(self, facts: FactSet) -> FactSet:
        """Ends a round: an engine may tidy up what earlier rounds left behind."""

    def save(self, facts: FactSet) -> Saved:
        """The facts of a set in a form that survives changes of the set."""

    def hold(self, saved: Saved) -> FactSet:
        """A set of facts that were saved."""

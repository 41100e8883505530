"""What an algorithm is given: sets of facts, evaluators over them, counters, and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tidelog.engine.abilities import FactAges, OwnEvaluation, ProofSearch, UpdateSets
from tidelog.engine.evaluators import Evaluators
from tidelog.engine.sets import Counter, FactSet, Ids, Sets, Taken, View
from tidelog.program.rules import Relation, Rule
from tidelog.program.syntax import Kind, Value
from tidelog.program.table import Column


class Counters(Protocol):
    """Derivation counters."""

    @property
    def nonrecursive(self) -> Counter:
        """Derivations by nonrecursive rules (C_nr)."""

    @property
    def recursive(self) -> Counter:
        """Derivations by recursive rules (C_r)."""

    def positive(self, counter: Counter, facts: FactSet) -> FactSet:
        """Those of the facts whose counter is above zero."""

    def reset(self, counter: Counter, relations: Sequence[str]) -> None:
        """Set the counters of all facts of these relations to zero."""


class ValueIds(Protocol):
    """Facts as numbers that stand for values, for data structures outside of the engine."""

    def identify(self, kind: Kind, values: Sequence[Value] | NDArray[Any]) -> Ids:
        """The numbers that stand for values of a kind."""

    def values(self, kind: Kind, ids: Ids) -> Column:
        """The values of a kind that these numbers stand for."""

    def ids(self, view: View, relation: str) -> Ids:
        """The facts of a view of a relation."""

    def pick(self, relation: str, ids: Ids) -> FactSet:
        """The facts that such numbers mean, each once."""

    def ordered(self, relation: str, ids: Ids) -> NDArray[np.int64]:
        """Where the facts that such numbers mean stand, in the order of their values."""


class Engine(Sets, Evaluators, Counters, ValueIds, Protocol):
    """Relations, sets of their facts, and the operations on them."""

    @property
    def kinds(self) -> Mapping[str, Relation]:
        """Relations that have been declared, by name."""

    @property
    def instances(self) -> int:
        """Rule instances considered so far."""

    @property
    def lasting(self) -> float:
        """Seconds spent so far on indexes that later work will find."""

    @property
    def ages(self) -> FactAges | None: ...

    @property
    def proofs(self) -> ProofSearch | None: ...

    @property
    def own_evaluation(self) -> OwnEvaluation | None: ...

    def declare(self, relation: Relation, aside: bool = False) -> object:
        """Make a relation known, such as one that an algorithm keeps for itself. Facts of one that
        stands `aside` do not count as such."""

    def size(self, relation: str) -> int:
        """How many facts of a relation are in the materialisation."""

    def worked(self, rule: Rule, seconds: float, facts: int) -> None:
        """Record that something other than the engine derived facts of a rule."""

    def take(self, relations: Sequence[str]) -> Taken:
        """Set all facts of these relations aside: they leave the materialisation. Explicit ones
        are put back into it. No other set may hold facts of these relations."""

    def compare(self, taken: Taken) -> tuple[FactSet, FactSet]:
        """Facts that were taken and are not in the materialisation now, and those that are in
        it now and were not taken."""


class OverlapEngine(Engine, UpdateSets, Protocol):
    """An engine on which updates may overlap."""

"""What a database remembers between updates, besides its facts.

Which derivation counters are in step with the facts, whether their ages are, and what strata
have cost. All of it can be forgotten: derivations are then counted again when an algorithm needs
it, and facts get new ages when their stratum is recomputed.

Ages are in step where every fact of a stratum is explicit or has an instance whose body facts
of the same stratum are older than it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from tidelog.maintain.costs import Costs
from tidelog.program.rules import Group, Rule, Stratum

T = TypeVar("T")
# Classes of modules that may be used: the standard ones, none, or these.
ModuleKinds = bool | tuple[type[Any], ...]
Kept = Literal["nonrecursive", "recursive", "trace", "ages", "modules", "certain"]


@dataclass(frozen=True, slots=True)
class Known:
    """What is computed once for a stratum."""

    rules: tuple[Rule, ...]  # always the same tuple, which engines recognise
    inside: frozenset[str]  # its relations
    complete: frozenset[str]  # relations that negated literals and aggregates read
    grouped: frozenset[str]  # relations that aggregates read
    read: frozenset[str]  # all relations that the rules read or derive

    @classmethod
    def of(cls, stratum: Stratum) -> Known:
        rules = stratum.rules
        groups = (part for rule in rules for part in rule.body if isinstance(part, Group))
        return cls(
            rules,
            frozenset(stratum.relations),
            frozenset(name for rule in rules for name, complete in rule.reads() if complete),
            frozenset(group.relation for group in groups),
            frozenset(stratum.relations).union(n for rule in rules for n, _ in rule.reads()),
        )


@dataclass(slots=True)
class Memory:
    # Which rules are recursive depends on the stratum: the counters of a relation are in step
    # for the stratum that is noted with it, and all relations of that stratum are noted.
    _kept: dict[Kept, dict[str, tuple[str, ...]]] = field(
        default_factory=lambda: {
            "nonrecursive": {},
            "recursive": {},
            "trace": {},
            "ages": {},
            "modules": {},
            "certain": {},
        }
    )
    modules: ModuleKinds = True
    limits: Mapping[str, int] = field(default_factory=dict)  # sizes at which recursion ends
    closed: dict[tuple[str, ...], Any] = field(default_factory=dict)  # closures, by stratum
    certain: dict[tuple[str, ...], Any] = field(default_factory=dict)  # those of certain facts
    circuit: Any = None  # of `dbsp` or `dyre`, if it is in step with the facts
    ranks: Any = None  # heights of facts, if explanations have needed them since the last update
    _modular: set[tuple[str, ...]] = field(default_factory=set)  # strata that had modules
    _unsure: set[str] = field(default_factory=set)  # relations whose ages came into or out of step
    _changed: set[str] = field(default_factory=set)  # relations whose closures have changed
    _costs: dict[str, Costs] = field(default_factory=dict)
    _once: dict[tuple[int, object], tuple[Stratum, Any]] = field(default_factory=dict)

    def has(self, kept: Kept, stratum: Stratum) -> bool:
        """Are these counters of the stratum's facts in step?"""
        noted = self._kept[kept].get(stratum.relations[0])
        return noted is stratum.relations or noted == stratum.relations

    def keep(self, stratum: Stratum, *kept: Kept) -> None:
        """These counters of the stratum's facts are in step now, and no others."""
        if "modules" in kept:
            self._changed.update(stratum.relations)
        if self._keeps_only(stratum, kept):
            return
        if self.has("ages", stratum) != ("ages" in kept):
            self._unsure.update(stratum.relations)
        closed = self.closed.get(stratum.relations)
        certain = self.certain.get(stratum.relations)
        self.forget(stratum.relations)
        if "certain" in kept:
            self.certain[stratum.relations] = certain
        if "modules" in kept:
            self.closed[stratum.relations] = closed
            self._modular.add(stratum.relations)
        for which in kept:
            self._kept[which].update(dict.fromkeys(stratum.relations, stratum.relations))

    def _keeps_only(self, stratum: Stratum, kept: Sequence[Kept]) -> bool:
        """Is there nothing to note?"""
        return all(
            self.has(which, stratum)
            if which in kept
            else noted.keys().isdisjoint(stratum.relations)
            for which, noted in self._kept.items()
        )

    def keep_ages(self, stratum: Stratum, *kept: Kept) -> None:
        """The same, and ages stay in step if they were."""
        if self.has("ages", stratum):
            kept += ("ages",)
        self.keep(stratum, *kept)

    def had_modules(self, stratum: Stratum) -> bool:
        """Have closures of the stratum been modules, even if these are forgotten?"""
        return stratum.relations in self._modular

    def had_in(self, relation: str) -> frozenset[str]:
        """Relations of strata that had modules, and this relation."""
        return frozenset().union(*(names for names in self._modular if relation in names))

    def forget(self, relations: Iterable[str]) -> None:
        """Counters and ages of these relations are out of step, and closures are forgotten."""
        for which, noted in self._kept.items():
            if noted:
                for name in relations:
                    strata = noted.pop(name, ())
                    if which == "modules":
                        self.closed.pop(strata, None)
                    elif which == "certain":
                        self.certain.pop(strata, None)
                    for other in strata:
                        noted.pop(other, None)

    def settle(self, undone: bool) -> None:
        """An update has ended. One that was undone leaves the ages as they were before it, counters
        out of step, and no closure that it changed."""
        self.ranks = None
        if self.circuit is not None and not self.circuit.settle(undone):
            self.circuit = None
        if undone:
            self.forget(self._unsure | self._changed)
            for which, noted in self._kept.items():
                if which not in ("ages", "modules", "certain"):
                    noted.clear()
        self._unsure.clear()
        self._changed.clear()

    def costs(self, stratum: Stratum) -> Costs:
        """The costs of strata with this one's first relation."""
        found = self._costs.get(stratum.relations[0])
        if found is None:
            found = self._costs[stratum.relations[0]] = Costs()
        return found

    def known(self, stratum: Stratum) -> Known:
        return self.once(Known.of, stratum)

    def once(self, make: Callable[..., T], stratum: Stratum, *more: object) -> T:
        """What `make` returns for the stratum and further arguments, cached by the stratum's
        identity."""
        found = self._once.get((id(stratum), make))
        if found is None or found[0] is not stratum:
            if len(self._once) > 4096:
                self._once.clear()
            found = self._once[id(stratum), make] = (stratum, make(stratum, *more))
        made: T = found[1]
        return made

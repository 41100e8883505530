"""Marking: while an update is worked on, note facts that the next one will affect.

Illich and Glimm, *Backward/Forward with Marking for Update Streams* (2025), and their
*Delete/Rederive with Marking*, as the former describes it. Facts that the next update deletes are
marked. When a rule is applied to a marked fact, its head is marked too; and when the next update
is worked on, marked heads are among the facts to check, or to overdelete, without a rule being
applied to find them. In B/F only explicit facts pass marks on, because an implicit one may keep
other proofs; in DRed all do, because overdeletion takes whatever is affected. DRed has positive
marks as well: of facts that the update deletes and the next one adds again, for what follows.

Departures: a stratum's marks are passed on once, when it is done, to the facts that it has derived
or proved. A join from the marked facts finds them; joins in every round, along with those that
derive facts, would cost more. A positive mark says what to ask for when the next update inserts,
and is believed only if the fact can be derived then. Marks do not change what is deleted or
inserted in the end: a marked fact is one that the next update would have found, or it is checked
in vain.

# M facts that pass marks on    N facts marked now
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from tidelog.engine import Engine, FactSet, Saved, View
from tidelog.maintain.update import Context
from tidelog.program.rules import Rule, Stratum

# Facts that the next update deletes and that hold now; facts that it inserts and this one deletes.
Next = tuple[FactSet, FactSet]


class Part(NamedTuple):
    """Facts, and the relations that they are of."""

    names: frozenset[str]
    saved: Saved


@dataclass(slots=True)
class Side:
    """Marks of one sign."""

    given: list[Part] = field(default_factory=list)  # explicit facts, from the next update
    found: list[Part] = field(default_factory=list)  # facts that got a mark from others


@dataclass(slots=True)
class Marks:
    """What is known of the next update, and what the last one marked."""

    look: Callable[[], Next | None] | None = None  # for the next update, if it has arrived
    last: Marks | None = None  # of the previous update
    implicit: bool = False  # whether implicit facts pass marks on
    negative: Side = field(default_factory=Side)
    positive: Side = field(default_factory=Side)

    def glance(self, u: Context) -> None:
        if self.look is None:
            return
        found = self.look()
        if found is None:
            return
        self.look = None
        deleted, inserted = found
        u.report.marks["explicit"] += len(deleted)
        _save(u.engine, self.negative.given, deleted)
        if self.implicit:
            u.report.marks["positive explicit"] += len(inserted)
            _save(u.engine, self.positive.given, inserted)

    def pass_on(self, u: Context, stratum: Stratum, derived: View) -> None:
        if (M := self._passing(u, stratum, self.negative)) is not None:
            rules = u.memory.known(stratum).rules
            N = u.engine.derive(rules, touching=M, within=u.I, guard=derived)
            self._note(u, stratum, "implicit", N, u.I, derived)

    def pass_back(self, u: Context, stratum: Stratum, lost: View) -> None:
        if (M := self._passing(u, stratum, self.positive)) is not None:
            rules = u.memory.known(stratum).rules
            N = u.engine.derive(rules, touching=M, within=u.I | M, guard=lost)
            self._note(u, stratum, "positive implicit", N, u.I | M, lost)

    def _passing(self, u: Context, stratum: Stratum, side: Side) -> FactSet | None:
        """Marked facts that rules of the stratum may read."""
        if not side.given:
            return None
        parts = [*side.given, *side.found] if self.implicit else side.given
        return _held(u.engine, parts, _read(u.memory.known(stratum).rules))

    def _note(
        self, u: Context, stratum: Stratum, kind: str, N: FactSet, within: View, among: View
    ) -> None:
        """Mark N and, if implicit facts pass marks on, what follows from N."""
        found = N
        if N and self.implicit and stratum.recursive:
            found = u.engine.none()
            u.engine.spread(
                *(stratum.recursive, N, (found,)),
                within=within | found,
                guard=among - found,
                each=u.round,
            )
        u.report.marks[kind] += len(found)
        _save(u.engine, (self.negative if kind == "implicit" else self.positive).found, found)

    def marked(self, u: Context, stratum: Stratum, positive: bool = False) -> FactSet | None:
        if self.last is None:
            return None
        side = self.last.positive if positive else self.last.negative
        names = frozenset(stratum.relations)
        marked = _held(u.engine, side.found, names)
        if marked is None:
            return None
        marked -= u.engine.collect(marked & u.I if positive else marked - u.I)
        return marked or None


def _save(engine: Engine, parts: list[Part], facts: FactSet) -> None:
    if facts:
        parts.append(Part(frozenset(engine.relations(facts)), engine.save(facts)))


def _held(engine: Engine, parts: Iterable[Part], names: frozenset[str]) -> FactSet | None:
    """The facts of parts that have some of these relations."""
    held: FactSet | None = None
    for part in parts:
        if not part.names.isdisjoint(names):
            facts = engine.hold(part.saved)
            if held is None:
                held = facts
            else:
                held |= facts
    return held


@lru_cache(maxsize=1024)
def _read(rules: tuple[Rule, ...]) -> frozenset[str]:
    """Relations that the rules have in positive literals."""
    return frozenset(
        part.relation for rule in rules for part in rule.literals() if not part.negated
    )

"""Marks: while an update is worked on, facts are noted that the next one will affect.

Illich and Glimm, *Backward/Forward with Marking for Update Streams* (2025), and their
*Delete/Rederive with Marking*, as the former describes it. Facts that the next update deletes are
marked. When a rule is applied to a marked fact, its head is marked too; and when the next update
is worked on, marked heads are among the facts to check, or to overdelete, without a rule being
applied to find them. In B/F only explicit facts pass marks on, because an implicit one may keep
other proofs; in DRed all do, because overdeletion takes whatever is affected. DRed has positive
marks as well: of facts that the update deletes and the next one adds again, for what follows.

Departures: marks are found for all facts of a round at once, by rules that have the marked fact
as one more literal (`%marked:R` has copies of the facts of R that are marked). A positive mark says
what to ask for when the next update inserts, and is believed only if the fact can be derived then.
Marks do not change what is deleted or inserted in the end: a marked fact is one that the next
update would have found, or it is checked in vain.

# M copies of facts that pass marks on    m, p facts that got a mark, negative and positive
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from tidelog.maintain.seam import Engine, FactSet, Saved, Split, View
from tidelog.program.rules import Literal, Relation, Rule, Stratum
from tidelog.program.syntax import Variable

if TYPE_CHECKING:
    from tidelog.maintain.update import Update

# Facts that the next update deletes and has now, and those that it adds and are deleted now.
Next = tuple[FactSet, FactSet]


@dataclass(slots=True)
class Side:
    """Marks of one sign."""

    M: Saved | None = None
    names: frozenset[str] = frozenset()  # relations that M has facts of
    found: list[Saved] = field(default_factory=list)

    def begin(self, engine: Engine, facts: FactSet) -> None:
        """These facts are marked."""
        names = tuple(engine.relations(facts))
        for name in names:
            relation = engine.kinds[name]
            engine.declare(replace(relation, name=_marked(name)))
        copies = engine.apply(tuple(_copy(engine.kinds[name]) for name in names), within=facts)
        if self.M is not None:
            copies |= engine.hold(self.M)
        self.M, self.names = engine.save(copies), self.names.union(names)


@dataclass(slots=True)
class Marks:
    """What is known of the next update while one is worked on, and what the last one marked."""

    look: Callable[[], Next | None] | None = None  # for the next update, if it is there
    last: Marks | None = None  # of the update before
    implicit: bool = False  # whether implicit facts pass marks on
    negative: Side = field(default_factory=Side)
    positive: Side = field(default_factory=Side)

    def glance(self, u: Update) -> None:
        """Look for the next update, once in a step, until it is there."""
        if self.look is None:
            return
        found = self.look()
        if found is None:
            return
        self.look = None
        deleted, added = found
        u.report.marks["explicit"] += len(deleted)
        self.negative.begin(u.engine, deleted)
        if self.implicit:
            u.report.marks["positive explicit"] += len(added)
            self.positive.begin(u.engine, added)

    def pass_on(
        self,
        u: Update,
        rules: Sequence[Rule],
        N: FactSet,
        *,
        within: View,
        guard: View,
        negative: View | None = None,
        positive: bool = False,
    ) -> None:
        """Mark heads of instances that touch N and have a marked fact in the body."""
        side = self.positive if positive else self.negative
        variants = _variants(tuple(rules), side.names) if side.M is not None else ()
        if not variants or not N:
            return
        engine = u.engine
        M = engine.hold(side.M)
        if isinstance(within, Split):
            within = replace(within, outside=within.outside | M)
        else:
            within = within | M
        found = engine.derive(variants, touching=N, within=within, guard=guard, negative=negative)
        del M
        self._note(u, side, found)

    def proved(self, u: Update, rules: Sequence[Rule], F: FactSet) -> None:
        """Mark those of F that these rules derive from a marked fact."""
        side = self.negative
        variants = _variants(tuple(rules), side.names) if side.M is not None else ()
        if variants and F:
            M = u.engine.hold(side.M)
            found = u.engine.provable(variants, F, within=u.I | M, negative=u.I)
            del M
            self._note(u, side, found)

    def _note(self, u: Update, side: Side, found: FactSet) -> None:
        if found:
            kind = "implicit" if side is self.negative else "positive implicit"
            u.report.marks[kind] += len(found)
            side.found.append(u.engine.save(found))
            if self.implicit:
                side.begin(u.engine, found)

    def marked(self, u: Update, stratum: Stratum, positive: bool = False) -> FactSet:
        """Facts of the stratum that the update before has marked."""
        engine, marked = u.engine, u.engine.none()
        if self.last is not None:
            side = self.last.positive if positive else self.last.negative
            for saved in side.found:
                marked |= engine.hold(saved)
            marked -= engine.collect(marked & u.I if positive else marked - u.I)
        return engine.collect(marked, stratum.relations) if marked else marked


def _marked(relation: str) -> str:
    return f"%marked:{relation}"


@lru_cache(maxsize=1024)
def _copy(relation: Relation) -> Rule:
    terms = tuple(Variable(f"x{i}", kind=kind) for i, kind in enumerate(relation.kinds))
    head = Literal(_marked(relation.name), terms)
    return Rule(head, (Literal(relation.name, terms),), "facts that are marked")


@lru_cache(maxsize=4096)
def _variants(rules: tuple[Rule, ...], names: frozenset[str]) -> tuple[Rule, ...]:
    return tuple(variant for rule in rules for variant in _with_mark(rule, names))


@lru_cache(maxsize=4096)
def _with_mark(rule: Rule, names: frozenset[str]) -> tuple[Rule, ...]:
    """The rule for each body literal that may be marked, with the marked copy beside it."""
    return tuple(
        replace(rule, body=(*rule.body, replace(part, relation=_marked(part.relation))))
        for part in _positive(rule)
        if part.relation in names
    )


def _positive(rule: Rule) -> Iterable[Literal]:
    return (part for part in rule.literals() if not part.negated)

"""Marking: explicit facts that coming updates delete are inserted last, with all that they give.

Illich and Glimm, *Backward/Forward with Marking for Update Streams* (2025), mark what the next
update deletes, and pass marks on to what rules derive from it, so that the next update need not
apply these rules again to find what it affects.

Here an update that inserts such facts has two passes: one without them, and one that inserts them.
What the second pass inserts holds because of marked facts alone: all of it is marked, explicit
facts that rules derive anyway are not. The next update begins by deleting what is marked, without
any rule: that leaves the materialisation of the other explicit facts, as it was between the passes.
Marked facts that it does not delete are inserted again, in its first pass, or in its second one if
an update further on deletes them.

Departures from the paper. Its marks are affected facts, which the next update still checks; these
are exact, so that every algorithm has them, and none does anything about them. Facts that were
there before an update are not marked when a coming update deletes them: to find what they give
takes the join that the mark would save. The paper's own marks are in `bench/stepwise`.

# E, I, X as in `update`    M marked explicit facts    F all marked facts
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from tidelog.engine import Engine, FactSet, Saved, Store
from tidelog.maintain import dred
from tidelog.maintain.memory import Kept, Memory
from tidelog.maintain.report import Report, Work
from tidelog.maintain.update import Algorithm, Update
from tidelog.program.rules import Rule, Stratum
from tidelog.program.table import Table

IN_STEP: tuple[Kept, ...] = ("nonrecursive", "recursive", "trace", "modules", "certain")


class Marked(NamedTuple):
    """What an update has marked."""

    explicit: Saved  # M
    facts: Saved  # F


class Pass(Protocol):
    def __call__(
        self, X: FactSet, deletes: bool, inserts: bool, algorithm: Algorithm | None = None
    ) -> tuple[Saved, Saved]:
        """Follow a change of the explicit facts X, which may delete some and insert some; returns
        the facts deleted and inserted."""


@dataclass(slots=True)
class Marks:
    """What was marked, and what to mark now."""

    before: Marked | None  # by the last update
    wanted: Mapping[str, Table]  # explicit facts that coming updates delete
    marked: Marked | None = None  # by this update

    def phases(
        self, engine: Store, change: tuple[FactSet, bool, bool], each: Pass, report: Report
    ) -> list[tuple[Saved, Saved]]:
        """Follow the update in two passes, after deleting what was marked. E has changed already:
        the change is X, which is used up, and whether it deletes and inserts."""
        found = []
        X, deletes, inserts = change
        if self.before is not None:
            self._delete(engine, self.before, report)
            found.append((self.before.facts, engine.save(engine.none())))
        marked, kept = self._divide(engine, X)
        E = engine.explicit
        try:
            if X:
                found.append(each(X, deletes, inserts or kept))
        finally:
            if marked is not None:
                E |= engine.hold(marked)
        if marked is not None:
            found.append(self._insert(engine, marked, each, report))
        return found

    def _divide(self, engine: Store, X: FactSet) -> tuple[Saved | None, bool]:
        """Take what is to be marked out of E and X: wanted facts that the update has made explicit
        or that were marked before, if there are any. Others that were marked and stay explicit join
        X; returns also whether there are any. No set is left behind: an engine holds few at once.
        """
        E, before = engine.explicit, self.before
        M = engine.none()
        for name, table in self.wanted.items():
            M |= engine.find(name, table)
        if before is None:
            if M:
                M = engine.collect(M & E & X)
                X -= M
        else:
            L = engine.hold(before.explicit)
            if M:
                M = engine.collect(M & E & (X | L))
            X -= M | L
            L -= M | ~E
            X |= L
        marked = engine.save(M) if M else None
        E -= M
        return marked, before is not None

    def _delete(self, engine: Store, marked: Marked, report: Report) -> None:
        I, F = engine.all, engine.hold(marked.facts)
        I -= F
        work = Work(tuple(engine.relations(F)), "marks", why="marked by the update before")
        work.deleted = len(F)
        report.works.append(work)
        report.marks["deleted"] += len(F)

    def _insert(
        self, engine: Store, marked: Saved, each: Pass, report: Report
    ) -> tuple[Saved, Saved]:
        before, M = len(report.works), engine.hold(marked)
        D, A = each(M, False, True, _insert)
        self.marked = Marked(marked, A)
        report.marks["explicit"] += len(M)
        for work in report.works[before:]:
            report.marks["facts"] += work.added
            work.why = "a coming update deletes what these follow from"
        return D, A


def _insert(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    """Nothing is lost: only insertion remains."""
    u.work.algorithm = "insert"
    u.memory.keep_ages(stratum)
    dred.insert(u, stratum, added, u.engine.none(), u.engine.none())


def reach(
    relations: Iterable[str],
    strata: Sequence[Stratum],
    stratum_of: Mapping[str, int],
    readers: Mapping[str, Iterable[str]],
) -> list[Stratum]:
    """The strata that facts of these relations may change."""
    todo, seen = [stratum_of[name] for name in relations], set[int]()
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            heads = (head for name in strata[at].relations for head in readers.get(name, ()))
            todo += map(stratum_of.__getitem__, heads)
    return [strata[at] for at in seen]


def can_mark(engine: Engine, memory: Memory, reached: Sequence[Stratum], least: int) -> bool:
    """May facts be marked that reach these strata?

    Not through negation or an aggregate, where insertions delete. Not where counters or closures
    are kept in step with the facts: they would have to follow, and with them a deletion takes
    little in any case. Not where subsumption or choice needs evaluation from scratch, and not
    unless there are at least `least` derived facts.
    """
    names = {name for stratum in reached for name in stratum.relations}
    size = 0
    for stratum in reached:
        if stratum.pruned or any(memory.has(kept, stratum) for kept in IN_STEP):
            return False
        if not memory.known(stratum).complete.isdisjoint(names):
            return False
        size += 0 if stratum.given else sum(map(engine.size, stratum.relations))
    return size >= least

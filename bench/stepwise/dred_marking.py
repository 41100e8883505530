"""Delete/Rederive with marking (Illich and Glimm 2025b), as section 3.1 of 2025a summarises it.

Blocks, in the manner of Algorithm 1: c) overdelete, d) remove the overdeleted facts, a) rederive,
e) add the explicit facts, f) insert, g) prepare the next update.

The conditions for passing marks on are our own choice; neither changes any result.

Negative marks (deleted by U2) pass from explicit and implicit facts, whenever rederivation or
insertion applies a rule. They are harmless, because the next overdeletion would reach every marked
fact: I only grows after it was marked, so its instance still exists, with a body fact that is in
E2⁻ or marked itself. Overdeletion from E2⁻ and these facts therefore has the same result D, and
each implicit mark saves exactly one of its applications.

Positive marks (deleted now, added again by U2) pass in overdeletion, if every body fact of the
instance will certainly hold after U2: an explicit one that neither update deletes, an explicit one
that U1 deletes and U2 adds, or a fact that is positively marked. By induction a marked fact is in
mat(P, E2); those that are not rederived at once are inserted with E2⁺, and each saves one
insertion.

# D overdeleted   R of these, not yet tried to rederive   M⁻, M⁺ marked facts
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from bench.stepwise.marking import Marking, Update
from bench.stepwise.matching import Fact, Instance, Rules


class DeleteRederive(Marking):
    """Counts: overdeletion, rederivation, insertion, and marks of both signs and kinds."""

    def __init__(self, rules: Rules, facts: Iterable[Fact] = (), looks: bool = True) -> None:
        super().__init__(rules, facts, looks)
        self.negative: dict[Fact, None] = {}
        self.positive: dict[Fact, None] = {}
        self._reset((), (), ())

    def _reset(
        self, deleted: Iterable[Fact], affected: Iterable[Fact], back: Iterable[Fact]
    ) -> None:
        self.block = "c"
        self.D = dict.fromkeys((*deleted, *affected))
        self.R = deque[Fact]()
        self._back = tuple(back)
        self._affected = self.frontier(self.D)
        self._rederived = self.frontier()
        self._new = self.frontier()

    def begin(self, update: Update) -> None:
        self._reset(update.deleted, (), ())

    def look(self, current: Update, following: Update) -> None:
        inserted, deleted = set(current.inserted), set(current.deleted)
        for fact in following.deleted:
            if fact in self.I or fact in inserted:
                self._mark(self.negative, fact, "negative explicit")
        for fact in following.inserted:
            if fact in deleted:
                self._mark(self.positive, fact, "positive explicit")

    def _mark(self, marked: dict[Fact, None], fact: Fact, kind: str) -> None:
        if fact not in marked:
            marked[fact] = None
            self.counts[kind] += 1

    def _will_hold(self, instance: Instance) -> bool:
        """Whether the whole body certainly holds after U2; of facts that were in I before U1."""
        if not self.positive or not any(f in self.positive for f in instance.body):
            return False  # some of the body is deleted and not added again
        is_explicit = self.rules.is_explicit
        return all(
            f in self.positive or (is_explicit(f) and f not in self.D and f not in self.negative)
            for f in instance.body
        )

    def _pass_on(self, instance: Instance) -> None:
        if self.negative:
            for fact in instance.body:
                if fact in self.negative:
                    self._mark(self.negative, instance.head, "negative implicit")
                    return

    def iterate(self) -> str:
        block = self.block
        match block:
            case "c":
                self._overdelete()
            case "d":
                for fact in self.D:
                    self.I.take_out(fact)
                self.R.extend(fact for fact in self.D if not self.rules.is_explicit(fact))
                self.block = "a"
            case "a":
                self._rederive()
            case "e":
                self._prepare_insertion()
            case "f":
                self._insert()
            case "g":
                self._finish()
        return block

    def _overdelete(self) -> None:
        r = self._affected.first(lambda r: r.head not in self.D)
        if r is None:
            self.block = "d"
            return
        self.counts["overdeletion"] += 1
        if self._will_hold(r):
            self.positive[r.head] = None  # counted when it was not rederived
        self.D[r.head] = None
        self._affected.put(r.head)

    def _rederive(self) -> None:
        """The fact itself first; then the consequences of those that were rederived."""
        r = None
        while self.R and r is None:
            fact = self.R.popleft()
            if fact not in self.I:
                r = self._proof(fact)
        if r is None:
            r = self._rederived.first(self._brings_back)
        if r is None:
            self.I.settle()
            self.block = "e"
            return
        self.counts["rederivation"] += 1
        self._pass_on(r)
        self.I.add(r.head)
        self._rederived.put(r.head)

    def _proof(self, fact: Fact) -> Instance | None:
        for r in self.I.deriving(fact):
            self.instances += 1
            if all(f in self.I for f in r.body):
                return r
        return None

    def _brings_back(self, r: Instance) -> bool:
        I = self.I
        return r.head in self.D and r.head not in I and all(f in I for f in r.body)

    def _prepare_insertion(self) -> None:
        assert self.U1 is not None
        for fact in (*self.U1.inserted, *self._back):
            if fact not in self.I:
                self.I.add(fact)
                self._new.put(fact)
        self.block = "f"

    def _insert(self) -> None:
        r = self._new.first(lambda r: r.head not in self.I)
        if r is None:
            self.block = "g"
            return
        self.counts["insertion"] += 1
        self._pass_on(r)
        self.I.add(r.head)
        self._new.put(r.head)

    def _finish(self) -> None:
        is_explicit = self.rules.is_explicit
        back = [f for f in self.positive if not is_explicit(f) and f not in self.I]
        self.counts["positive implicit"] += len(back)
        affected = [f for f in self.negative if not is_explicit(f)]
        deleted = self.U2.deleted if self.U2 is not None else ()
        self._reset(deleted, affected, back)
        self.negative, self.positive = {}, {}

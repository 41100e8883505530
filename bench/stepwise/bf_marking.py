"""Backward/Forward with marking (Illich and Glimm 2025, Algorithm 1), line by line.

Our copy of the paper lacks the algorithm's symbols; lines 1 to 34 are restored from the prose,
Example 3 and the proofs of appendix A. Where these leave a choice:
  - line 11 requires a head outside P ∪ Y: otherwise block a) would derive a delayed fact again and
    again;
  - line 23 requires a head outside C ∪ W, as section 4.1 says ("does not already occur in W
    or C"); D adds nothing to it, because D ⊆ C ∪ E⁻;
  - a marked fact counts once per update, however often it is marked;
  - W begins (line 32) with the marked facts in the order in which they were marked.
Which instance an "∃" finds is free: here the facts of D, P and I are taken in order of insertion.
Block letters and line numbers are the paper's.

The order of work decides how much is deleted and how much is chained back, but not the result;
`bf_in_turn` has the order of the program that produced the paper's figures.

# C checked   D deleted   P proved   W waiting to be checked   Y delayed: proved, not checked
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

from bench.stepwise.marking import Marking, Update
from bench.stepwise.matching import Fact, Instance, Rules


class BackwardForward(Marking):
    """Counts: deletions (line 23), backward (20), forward (11), insertions (28), and marks."""

    def __init__(self, rules: Rules, facts: Iterable[Fact] = (), looks: bool = True) -> None:
        super().__init__(rules, facts, looks)
        self.marked: dict[Fact, None] = {}
        self.passing: set[Fact] = set()  # those of the marked facts that are explicit
        self._reset(())

    def _reset(self, deleted: Iterable[Fact], waiting: Iterable[Fact] = ()) -> None:
        self.phase = 1
        self.C: set[Fact] = set()
        self.D = dict.fromkeys(deleted)
        self.P: set[Fact] = set()
        self.W = dict.fromkeys(waiting)
        self.Y: set[Fact] = set()
        self._unproved: dict[Fact, None] = {}  # C \ P
        self._support: dict[Fact, Iterator[Instance]] = {}
        self._forward = self.frontier()
        self._affected = self.frontier(self.D)
        self._new = self.frontier()

    def begin(self, update: Update) -> None:  # line 6
        self._reset(update.deleted)

    def look(self, current: Update, following: Update) -> None:  # line 9
        inserted = set(current.inserted)
        for fact in following.deleted:
            if fact in self.I or fact in inserted:
                self._mark(fact, "explicit")
                self.passing.add(fact)

    def _mark(self, fact: Fact, kind: str) -> None:
        if fact not in self.marked:
            self.marked[fact] = None
            self.counts[kind] += 1

    def _pass_on(self, instance: Instance) -> None:  # lines 12 and 29
        if self.passing and not self.passing.isdisjoint(instance.body):
            self._mark(instance.head, "implicit")

    def iterate(self) -> str:
        if self.phase == 2:
            return "f" if self.add_derived() else self.prepare_next()
        return next(block for block, work in self.blocks.items() if work(self))

    def chain_forward(self) -> bool:
        """a) Derive one fact from proved ones."""
        proof = self._forward.first(self._is_proof)  # 11
        if proof is None:
            return False
        self.counts["forward"] += 1
        self._pass_on(proof)  # 12
        if proof.head in self.W or proof.head in self.C:  # 13 to 15
            self._prove(proof.head)
        else:  # 16
            self.Y.add(proof.head)
        return True

    def _is_proof(self, r: Instance) -> bool:
        return r.head not in self.P and r.head not in self.Y and self.P.issuperset(r.body)

    def chain_back(self) -> bool:
        """b) Prove the waiting fact on top, or make facts wait that would derive it."""
        if not self.W:
            return False
        fact = next(reversed(self.W))  # 17
        if (self.rules.is_explicit(fact) and fact not in self.D) or fact in self.Y:  # 18
            self._prove(fact)
        elif (support := self._supporting(fact)) is not None:  # 20
            self.counts["backward"] += 1
            for f in support.body:
                if f not in self.C:
                    self.W.setdefault(f)
        else:  # 22
            self.C.add(fact)
            if fact not in self.P:
                self._unproved[fact] = None
            del self.W[fact]
        return True

    def find_affected(self) -> bool:
        """c) Determine a fact affected by deletion."""
        r = self._affected.first(lambda r: r.head not in self.C and r.head not in self.W)  # 23
        if r is None:
            return False
        self.counts["deletions"] += 1
        self.W[r.head] = None
        return True

    def delete_disproved(self) -> bool:
        """d) Delete facts that cannot be proved."""
        if not self._unproved:  # 25
            return False
        for fact in self._unproved:
            self.D[fact] = None
            self._affected.put(fact)
        self._unproved = {}
        return True

    def finish_deletions(self) -> bool:
        """e) Take D out, and put the explicit facts in."""
        for fact in self.D:  # 26
            self.I.remove(fact)
        assert self.U1 is not None
        for fact in self.U1.inserted:
            self.I.add(fact)
            self._new.put(fact)
        self.phase = 2
        return True

    blocks: ClassVar[dict[str, Callable[[BackwardForward], bool]]] = {
        "a": chain_forward,
        "b": chain_back,
        "c": find_affected,
        "d": delete_disproved,
        "e": finish_deletions,
    }

    def _prove(self, fact: Fact) -> None:
        """Lines 14, 15 and 19: the fact is in C and P, and no longer in W."""
        self.C.add(fact)
        self.P.add(fact)
        self.W.pop(fact, None)
        self._unproved.pop(fact, None)
        self._forward.put(fact)

    def _supporting(self, fact: Fact) -> Instance | None:
        """An instance that derives the fact from none of D, and from some facts that no one has
        met. What one search has skipped need not be looked at again: C ∪ W and D only grow."""
        if fact not in self._support:
            self._support[fact] = iter(self.I.deriving(fact))
        C, D, W = self.C, self.D, self.W
        for r in self._support[fact]:
            self.instances += 1
            if not any(f in D for f in r.body) and any(f not in C and f not in W for f in r.body):
                return r
        return None

    def add_derived(self) -> bool:
        """f) Add a new derivable fact."""
        r = self._new.first(lambda r: r.head not in self.I)  # 28
        if r is None:
            return False
        self.counts["insertions"] += 1
        self._pass_on(r)  # 29
        self.I.add(r.head)  # 30
        self._new.put(r.head)
        return True

    def prepare_next(self) -> str:
        """g) Prepare next update processing."""
        deleted = self.U2.deleted if self.U2 is not None else ()
        self._reset(deleted, (f for f in self.marked if not self.rules.is_explicit(f)))  # 32
        self.marked, self.passing = {}, set()
        return "g"

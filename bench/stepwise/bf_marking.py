"""Backward/Forward with marking (Illich and Glimm 2025, Algorithm 1), line by line.

The text at hand has lost the algorithm's symbols; lines 1 to 34 are restored from the prose,
Example 3 and the proofs of appendix A. Where these leave a choice:
  - line 11 asks for a head outside P ∪ Y: else block a) would derive a delayed fact for ever;
  - line 23 asks for a head outside C ∪ W, as section 4.1 says ("does not already occur in W
    or C"); D adds nothing to it, since D ⊆ C ∪ E⁻;
  - a marked fact counts once an update, however often it is marked;
  - W begins (line 32) with the marked facts in the order in which they were marked.
Which instance an "∃" finds is free: here the facts of D, P and I are taken in the order in which
they came. Block letters and line numbers are the paper's.

# C checked   D deleted   P proved   W waiting to be checked   Y delayed: proved, not checked
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bench.stepwise.marking import Marking, Update
from bench.stepwise.matching import Fact, Facts, Frontier, Instance, Rules


class BackwardForward(Marking):
    """Counts: deletions (line 23), backward (20), forward (11), insertions (28), and marks."""

    def __init__(self, rules: Rules, facts: Iterable[Fact] = (), looks: bool = True) -> None:
        super().__init__(rules, facts, looks)
        self.marked: dict[Fact, None] = {}
        self._reset(())

    def _reset(self, gone: Iterable[Fact], waiting: Iterable[Fact] = ()) -> None:
        self.phase = 1
        self.C: set[Fact] = set()
        self.D = dict.fromkeys(gone)
        self.P = Facts()
        self.W = dict.fromkeys(waiting)
        self.Y: set[Fact] = set()
        self._unproved: dict[Fact, None] = {}  # C \ P
        self._support: dict[Fact, Iterator[Instance]] = {}
        self._forward = Frontier(self.rules, self.P)
        self._affected = Frontier(self.rules, self.I, self.D)
        self._new = Frontier(self.rules, self.I)

    def begin(self, update: Update) -> None:  # line 6
        self._reset(update.gone)

    def look(self, current: Update, following: Update) -> None:  # line 9
        come = set(current.come)
        for fact in following.gone:
            if fact in self.I or fact in come:
                self._mark(fact, "explicit")

    def _mark(self, fact: Fact, kind: str) -> None:
        if fact not in self.marked:
            self.marked[fact] = None
            self.counts[kind] += 1

    def _pass_on(self, instance: Instance) -> None:  # lines 12 and 29
        if any(fact in self.marked and self.rules.is_explicit(fact) for fact in instance.body):
            self._mark(instance.head, "implicit")

    def iterate(self) -> str:
        return self._delete() if self.phase == 1 else self._insert()

    def _delete(self) -> str:
        C, D, P, W, Y = self.C, self.D, self.P, self.W, self.Y

        # a) Forward chaining with proved facts
        proof = self._forward.first(lambda r: r.head not in P and r.head not in Y)  # 11
        if proof is not None:
            self.counts["forward"] += 1
            self._pass_on(proof)  # 12
            if proof.head in W:  # 13
                self._prove(proof.head)
            elif proof.head in C:  # 15
                self._prove(proof.head)
            else:  # 16
                Y.add(proof.head)
            return "a"

        # b) Backward chaining with waiting facts
        if W:
            fact = next(reversed(W))  # 17
            if (self.rules.is_explicit(fact) and fact not in D) or fact in Y:  # 18
                self._prove(fact)
            elif (support := self._supporting(fact)) is not None:  # 20
                self.counts["backward"] += 1
                W.update((f, None) for f in support.body if f not in C and f not in W)
            else:  # 22
                C.add(fact)
                self._unproved[fact] = None
                del W[fact]
            return "b"

        # c) Determine facts affected by deletion
        affected = self._affected.first(lambda r: r.head not in C and r.head not in W)  # 23
        if affected is not None:
            self.counts["deletions"] += 1
            W[affected.head] = None
            return "c"

        # d) Delete facts that cannot be proved
        if self._unproved:  # 25
            for fact in self._unproved:
                D[fact] = None
                self._affected.put(fact)
            self._unproved = {}
            return "d"

        # e) Finish deletions and prepare insertions
        for fact in D:  # 26
            self.I.remove(fact)
        assert self.U1 is not None
        for fact in self.U1.come:
            self.I.add(fact)
            self._new.put(fact)
        self.phase = 2
        return "e"

    def _prove(self, fact: Fact) -> None:
        """Lines 14, 15 and 19: the fact is in C and P, and no longer in W."""
        self.C.add(fact)
        self.P.add(fact)
        self.W.pop(fact, None)
        self._unproved.pop(fact, None)
        self._forward.put(fact)

    def _supporting(self, fact: Fact) -> Instance | None:
        """An instance that derives the fact from none of D, and from some that no one has met.

        What one search has passed over it need not see again: C ∪ W and D only grow.
        """
        if fact not in self._support:
            self._support[fact] = self.rules.deriving(fact, self.I)
        for r in self._support[fact]:
            if not any(f in self.D for f in r.body) and any(
                f not in self.C and f not in self.W for f in r.body
            ):
                return r
        return None

    def _insert(self) -> str:
        # f) Add new derivable facts
        new = self._new.first(lambda r: r.head not in self.I)  # 28
        if new is not None:
            self.counts["insertions"] += 1
            self._pass_on(new)  # 29
            self.I.add(new.head)  # 30
            self._new.put(new.head)
            return "f"

        # g) Prepare next update processing
        gone = self.U2.gone if self.U2 is not None else ()
        self._reset(gone, (f for f in self.marked if not self.rules.is_explicit(f)))  # 32
        self.marked = {}
        return "g"

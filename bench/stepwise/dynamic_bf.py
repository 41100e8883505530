"""Backward/Forward with fully dynamic updates, which the paper leaves open.

As in `bf_marking` a fact is checked before it is deleted; dels is D. The check sees X without
dels, and its blocks a) to d) keep their order, so that a state has at most the choices that the
"∃" of that algorithm leave. Arrivals, cancelling and executing may happen between any two.

An update that deletes invalidates proofs: C, P, W and Y are emptied when it arrives, and what
was waiting is found again from dels. One that only adds invalidates nothing: proofs rest on E.
Disproved facts stay in dels in both cases. A fact that is no longer explicit, but that rules could
derive, is not deleted but checked; it is in L until then.

Correct. Trees are as in `dynamic_dred`. When the blocks have nothing to do, a fact of X \\ dels
with an instance that meets dels was checked and is in P or E, so it has a proof over X \\ dels (no
invalid addition, no omitted deletion). A fact that is disproved while all its premises stay
would have been derived in block a); so some premise is in dels, too, or was. If that premise
returns, by its explicit addition or a rule, it is in adds, and then derives the fact (no invalid
deletion, no omitted addition). No set of facts to rederive is needed.

Terminates. Between arrivals C ∪ W and P ∪ Y only grow, and dels loses only facts of E, which block
d) does not give back to it; when dels is empty, none appears, and additions only enlarge X.

# C checked   P proved   W waiting, the last one first   Y delayed   L no longer explicit
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bench.stepwise.dynamic import Dynamic, Set, State
from bench.stepwise.marking import Update
from bench.stepwise.matching import Fact

NONE: Set = frozenset()


@dataclass(frozen=True, slots=True)
class Check:
    C: Set = NONE
    P: Set = NONE
    W: tuple[Fact, ...] = ()
    Y: Set = NONE
    L: Set = NONE

    def proved(self, fact: Fact) -> Check:
        W = tuple(f for f in self.W if f != fact)
        return replace(self, C=self.C | {fact}, P=self.P | {fact}, W=W)


class BackwardForward(Dynamic):
    def memory(self, I: Set, E: Set) -> Check:
        return Check()

    def arrive(self, s: State, update: Update) -> State:
        check = check_of(s)
        lost = {fact for fact in update.deleted if self.with_head[fact]}
        s = super().arrive(s, Update(tuple({*update.deleted} - lost), update.inserted))
        L = (check.L | lost) - s.E
        return replace(s, memory=Check(L=L) if update.deleted else replace(check, L=L))

    def waits(self, s: State, fact: Fact) -> bool:
        return self._is_deleting(s)

    def _is_deleting(self, s: State) -> bool:
        return bool(s.dels or check_of(s).L)

    def determine_deletions(self, s: State) -> Iterator[tuple[State, object]]:
        if self._is_deleting(s):
            check = check_of(s)
            for block in (self._forward, self._backward, self._affected, self._disproved):
                found = [*block(s, check)]
                if found:
                    yield from found
                    return

    def _forward(self, s: State, check: Check) -> Iterator[tuple[State, object]]:
        """a) Consequences of proved facts; one that is already in dels returns later."""
        alive = s.X - s.dels - check.P - check.Y
        heads = {
            r.head
            for fact in check.P
            for r in self.with_body[fact]
            if r.head in alive and check.P.issuperset(r.body)
        }
        for head in sorted(heads):
            met = head in check.W or head in check.C
            after = check.proved(head) if met else replace(check, Y=check.Y | {head})
            yield replace(s, memory=after), f"? proved {head}"

    def _backward(self, s: State, check: Check) -> Iterator[tuple[State, object]]:
        """b) The last of W: proved, or to be derived from facts that are checked first."""
        if not check.W:
            return
        fact, alive = check.W[-1], s.X - s.dels
        if fact in s.E or fact in check.Y:
            yield replace(s, memory=check.proved(fact)), f"? proved {fact}"
            return
        met = check.C.union(check.W)
        supports = [
            r
            for r in self.with_head[fact]
            if alive.issuperset(r.body) and not met.issuperset(r.body)
        ]
        for r in supports:
            W = (*check.W, *(f for f in dict.fromkeys(r.body) if f not in met))
            yield replace(s, memory=replace(check, W=W)), f"? {r}"
        if not supports:
            after = replace(check, C=check.C | {fact}, W=check.W[:-1])
            yield replace(s, memory=after), f"? {fact}"

    def _affected(self, s: State, check: Check) -> Iterator[tuple[State, object]]:
        """c) Facts outside C with an instance that loses a premise, or that are in L."""
        alive, around = s.X - s.dels - check.C, s.X | s.dels
        heads = {
            r.head
            for fact in s.dels
            for r in self.with_body[fact]
            if r.head in alive and around.issuperset(r.body)
        }
        for head in sorted(heads | (alive & check.L)):
            yield replace(s, memory=replace(check, W=(head,))), f"? {head}"

    def _disproved(self, s: State, check: Check) -> Iterator[tuple[State, object]]:
        """d) Delete what was checked and not proved; spare what has since become explicit."""
        N = check.C - check.P - s.dels - s.E
        if N:
            yield replace(s, dels=s.dels | N), ", ".join(map(str, sorted(N)))

    def determine_additions(self, s: State) -> Iterator[tuple[State, object]]:
        for fact in self.derived(s):
            if not self.waits(s, fact):
                yield replace(s, adds=s.adds | {fact}), fact

    def settled(self, s: State) -> State:
        if self._is_deleting(s):
            left = s.dels & (s.I | s.adds) or any(True for _ in self.determine_deletions(s))
            if left:
                return s
        return self.without_spent_additions(replace(s, dels=NONE, memory=Check()))


def check_of(s: State) -> Check:
    assert isinstance(s.memory, Check)
    return s.memory

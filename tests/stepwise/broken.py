"""Versions of the dynamic algorithms that leave out what makes them correct."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bench.stepwise.dynamic import Set, State
from bench.stepwise.dynamic_bf import BackwardForward, check_of
from bench.stepwise.dynamic_counting import Counting, Memory
from bench.stepwise.dynamic_dred import DRed
from bench.stepwise.marking import Update
from bench.stepwise.matching import Fact, Instance


class HastyDRed(DRed):
    """Rederives and inserts before overdeletion has drained."""

    def waits(self, s: State, fact: Fact) -> bool:
        return False


class CredulousDRed(HastyDRed):
    """Lets any derivation cancel a deletion, one from facts that are about to go too."""

    def is_supported(self, s: State, fact: Fact) -> bool:
        return fact in s.E or any(s.X.issuperset(r.body) for r in self.with_head[fact])


@dataclass(frozen=True, slots=True)
class Numbers(Memory):
    """Only the size of M is meant, head by head; `done` are instances that were counted down."""

    done: frozenset[Instance] = frozenset()


class ForgetfulCounting(Counting):
    """Has counts, and rules to tell which derivations a deletion affects, but no memory of them."""

    def memory(self, I: Set, E: Set) -> Numbers:
        known = super().memory(I, E)
        return Numbers(known.M, known.ranks)

    def determine_deletions(self, s: State) -> Iterator[tuple[State, object]]:
        known = s.memory
        assert isinstance(known, Numbers)
        around = s.X | s.dels
        for r in sorted({r for fact in s.dels for r in self.with_body[fact]} - known.done):
            if not around.issuperset(r.body):
                continue
            derivations = sorted(known.M.intersection(self.with_head[r.head]))
            one = r if r in known.M else next(iter(derivations), r)
            after = replace(s, memory=replace(known, M=known.M - {one}, done=known.done | {r}))
            if r.head in s.X and not self.is_supported(after, r.head):
                after = replace(after, dels=s.dels | {r.head})
            yield after, r

    def settled(self, s: State) -> State:
        s = super().settled(s)
        assert isinstance(s.memory, Numbers)
        return s if s.dels else replace(s, memory=replace(s.memory, done=frozenset()))


class RanklessCounting(Counting):
    """Counts every derivation, those in a circle too."""

    def _is_recursive(self, r: Instance, fact: Fact) -> bool:
        return False


class TrustingBackwardForward(BackwardForward):
    """Keeps its proofs when an update arrives that deletes."""

    def arrive(self, s: State, update: Update) -> State:
        check = check_of(s)
        after = super().arrive(s, update)
        return replace(after, memory=replace(check, L=check_of(after).L))


class StubbornBackwardForward(BackwardForward):
    """Deletes what it could not prove, though it has become explicit since."""

    def _disproved(self, s: State, check: object) -> Iterator[tuple[State, object]]:
        known = check_of(s)
        N = known.C - known.P - s.dels
        if N:
            yield replace(s, dels=s.dels | N), ", ".join(map(str, sorted(N)))

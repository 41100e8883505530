"""DRed with fully dynamic updates: overdeletion drains before anything is added.

Correct. Every fact of X has a derivation tree with nodes in X ∪ dels and leaves in E ∪ dels;
no step breaks that. When no deletion can be determined, an instance over X ∪ dels that meets
dels has its head in dels, in E or outside X; so a fact of X \\ dels has a tree without dels, and
holds (no invalid addition, no omitted deletion). An instance over X without its head in X has a
body fact in adds, or its head is in R: heads leave X only through dels and are then in R, and a
body fact that returns, or whose deletion is cancelled, is in adds. So nothing that holds is
missing when adds and R are empty (no invalid deletion, no omitted addition).

Terminates. Between arrivals, deletions only move facts from X to dels; when dels is empty, none
appears, and additions only enlarge X.

# R overdeleted, and derivable in one step from X: to be rederived
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

from bench.stepwise.dynamic import Dynamic, Set, State
from bench.stepwise.matching import Fact


class DRed(Dynamic):
    """The memory is R, and facts of dels once they are dealt with."""

    def memory(self, I: Set, E: Set) -> Hashable:
        return frozenset[Fact]()

    def determine_deletions(self, s: State) -> Iterator[tuple[State, Fact]]:
        for fact in sorted(self._affected(s)):
            yield replace(s, dels=s.dels | {fact}), fact

    def _affected(self, s: State) -> set[Fact]:
        X = s.X
        alive = X - s.dels - s.E
        return {
            r.head
            for fact in s.dels
            for r in self.with_body[fact]
            if r.head in alive and all(f in X or f in s.dels for f in r.body)
        }

    def determine_additions(self, s: State) -> Iterator[tuple[State, Fact]]:
        """Rederivation and insertion: whatever has an instance in X now."""
        R = _R(s)
        for fact in (*sorted(R), *self.derived(s)):
            if not self.waits(s, fact) and self._is_derivable(s, fact):
                yield replace(s, adds=s.adds | {fact}, memory=R - {fact}), fact

    def _is_derivable(self, s: State, fact: Fact) -> bool:
        X = s.X
        return fact not in X and any(X.issuperset(r.body) for r in self.with_head[fact])

    def settled(self, s: State) -> State:
        if s.dels and not any(True for _ in self.deletions_left(s)):
            s = replace(s, dels=frozenset(), memory=_R(s) | s.dels)
        if s.dels:
            return s
        # Whatever derives the others later is itself added, and finds them then.
        s = replace(s, memory=frozenset(f for f in _R(s) if self._is_derivable(s, f)))
        return self.without_spent_additions(s)

    def deletions_left(self, s: State) -> Iterator[object]:
        yield from s.adds & s.dels
        yield from s.dels & s.I
        yield from self._affected(s)


def _R(s: State) -> Set:
    assert isinstance(s.memory, frozenset)
    return s.memory

"""Counting with fully dynamic updates: M holds the instances that were applied.

A fact's count is the number of instances in M that derive it, plus one if it is in E. So that a
fact cannot support itself, every fact gets a rank when it enters X, one more than the highest rank
in the body that derives it (0 if explicit); of a recursive rule's instances only those count whose
body facts, as far as they are recursive with the head, have lower ranks. Others stay in M: if the
fact is deleted and they remain, they restore it with a new rank.

Facts that are not recursive are added and deleted in any order; additions of recursive facts
wait until no deletion is left.

Correct. A fact of X \\ dels is in E or has an instance in M that counts, and the body of an
instance in M is in X ∪ dels. With dels empty, every fact of X holds, by induction on components of
the program and on ranks (no invalid addition, no omitted deletion). add(F) stays until all
instances over X with F are in M, and an instance in M whose head is not in X determines its
addition; so X contains everything that holds when adds is empty (no invalid deletion, no omitted
addition). del(F) removes from M what was applied, and nothing else.

Terminates. Only deletions cause deletions. By induction on components: facts below change finitely
often between arrivals, so the instances of a nonrecursive rule change finitely often; and
recursive facts enter X only when no deletion is left, so ranks cannot grow without end.

# M applied instances   ranks of the facts of X ∪ dels
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bench.stepwise.dynamic import Case, Dynamic, Set, State
from bench.stepwise.marking import Update
from bench.stepwise.matching import Fact, Instance, Rules


@dataclass(frozen=True, slots=True)
class Memory:
    M: frozenset[Instance]
    ranks: frozenset[tuple[Fact, int]]

    def rank(self) -> dict[Fact, int]:
        return dict(self.ranks)


class Counting(Dynamic):
    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.component = components(case.rules)

    def memory(self, I: Set, E: Set) -> Memory:
        ranks = dict.fromkeys(E, 0)
        while N := {
            r.head: self._rank_by(r, ranks)
            for fact in sorted(I - ranks.keys())
            for r in self.with_head[fact]
            if all(f in ranks for f in r.body)
        }:
            ranks.update(N)
        M = frozenset(r for head in I for r in self.with_head[head] if I.issuperset(r.body))
        return Memory(M, frozenset(ranks.items()))

    def _is_recursive(self, r: Instance, fact: Fact) -> bool:
        """Whether the fact and the head of r depend on each other."""
        number = self.component.get(r.head.relation)
        return number is not None and number == self.component.get(fact.relation)

    def _rank_by(self, r: Instance, ranks: dict[Fact, int]) -> int:
        below = [ranks[fact] for fact in r.body if self._is_recursive(r, fact)]
        return 1 + max(below, default=0)

    def is_supported(self, s: State, fact: Fact) -> bool:
        if fact in s.E:
            return True
        memory = memory_of(s)
        ranks = memory.rank()
        return any(
            r in memory.M
            and all(ranks[f] < ranks[fact] for f in r.body if self._is_recursive(r, f))
            for r in self.with_head[fact]
        )

    def waits(self, s: State, fact: Fact) -> bool:
        return bool(s.dels) and fact.relation in self.component

    def arrive(self, s: State, update: Update) -> State:
        """Cancel a deletion at once if its fact has a derivation left."""
        memory = memory_of(s)
        ranks = dict.fromkeys(update.inserted, 0) | memory.rank()
        s = super().arrive(s, Update((), update.inserted))
        s = replace(s, memory=replace(memory, ranks=frozenset(ranks.items())))
        return replace(s, dels=s.dels | {f for f in update.deleted if not self.is_supported(s, f)})

    def determine_deletions(self, s: State) -> Iterator[tuple[State, object]]:
        """Remove an instance from M, because a fact of its body is deleted."""
        memory = memory_of(s)
        for r in sorted(memory.M):
            if s.dels.isdisjoint(r.body):
                continue
            after = replace(s, memory=replace(memory, M=memory.M - {r}))
            if r.head in s.X and not self.is_supported(after, r.head):
                after = replace(after, dels=s.dels | {r.head})
            yield after, r

    def determine_additions(self, s: State) -> Iterator[tuple[State, object]]:
        """Add an instance to M, or let an instance of M restore its head."""
        memory = memory_of(s)
        alive = s.X - s.dels
        for r in sorted(self._open(s)):
            if r.head in alive:
                yield replace(s, memory=replace(memory, M=memory.M | {r})), r
            elif not self.waits(s, r.head):
                yield self._entered(s, r), r
        for r in sorted(memory.M):
            if r.head not in s.X and not self.waits(s, r.head):
                yield self._entered(s, r), r

    def _open(self, s: State) -> set[Instance]:
        """Instances to apply: not in M, with a new body fact, and none that is being deleted."""
        memory, alive = memory_of(s), s.X - s.dels
        return {
            r
            for fact in s.adds - s.dels
            for r in self.with_body[fact]
            if r not in memory.M and alive.issuperset(r.body)
        }

    def _entered(self, s: State, r: Instance) -> State:
        memory = memory_of(s)
        ranks = memory.rank()
        ranks.setdefault(r.head, self._rank_by(r, ranks))
        after = replace(memory, M=memory.M | {r}, ranks=frozenset(ranks.items()))
        return replace(s, adds=s.adds | {r.head}, memory=after)

    def settled(self, s: State) -> State:
        memory = memory_of(s)
        spent = {f for f in s.dels - s.I - s.adds if memory.M.isdisjoint(self.with_body[f])}
        if spent:
            ranks = frozenset((f, n) for f, n in memory.ranks if f not in spent)
            s = replace(s, dels=s.dels - spent, memory=replace(memory, ranks=ranks))
        working = {fact for r in self._open(s) for fact in r.body}
        return replace(s, adds=s.adds - {f for f in s.adds & s.I if f not in working | s.dels})


def memory_of(s: State) -> Memory:
    assert isinstance(s.memory, Memory)
    return s.memory


def components(rules: Rules) -> dict[str, int]:
    """A number for each recursive relation, the same for those that depend on each other.

    >>> components(Rules.read(".decl a() .decl b() .decl c() b() :- a(). a() :- b(). c() :- a()."))
    {'a': 0, 'b': 0}
    """
    reads: dict[str, set[str]] = {}
    for head, body in rules.reads():
        reads.setdefault(head, set()).add(body)
    while True:
        further = {
            name: bodies.union(*(reads.get(b, ()) for b in bodies))
            for name, bodies in reads.items()
        }
        if further == reads:
            break
        reads = further
    recursive = sorted(name for name, bodies in reads.items() if name in bodies)
    first = {name: min(b for b in reads[name] if name in reads.get(b, ())) for name in recursive}
    numbers = {name: i for i, name in enumerate(sorted(set(first.values())))}
    return {name: numbers[first[name]] for name in recursive}

"""Backward/Forward, line by line (Motik, Nenov, Piro and Horrocks 2015, Algorithms 1 to 3).

The order of rule instances is free in the paper; here facts are taken in order of insertion. Line
numbers are the paper's. `checkProvability` yields the facts that it checks, instead of calling
itself, because proofs can be deeper than Python's stack.

# C checked   P proved   Y delayed   S disproved   D consequences examined   O processed of D
# V processed of P
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from bench.stepwise.matching import Fact, Facts, Instance, Rules


class BackwardForward:
    """A materialisation from which explicit facts are deleted once.

    >>> rules = Rules.read(".decl a(x: number) .decl b(x: number) c(x) :- a(x). c(x) :- b(x).")
    >>> run = BackwardForward(rules, [Fact("a", (1,)), Fact("b", (1,))])
    >>> run.delete([Fact("a", (1,))])
    >>> sorted(run.I), len(run.C)
    ([b(1), c(1)], 3)
    """

    def __init__(self, rules: Rules, explicit: Iterable[Fact]) -> None:
        self.rules = rules
        self.E = dict.fromkeys(explicit)
        self.I = Facts()
        N = deque(self.E)
        while N:
            fact = N.popleft()
            if fact not in self.I:
                self.I.add(fact)
                N.extend(instance.head for instance in rules.touching(fact, self.I))

    def delete(self, gone: Iterable[Fact]) -> None:
        """Algorithm 1. `touching` gives the same as `matchBody` and `eval`: an instance in which
        the fact occurs twice comes once."""
        self.C: dict[Fact, None] = {}
        self.P: set[Fact] = set()
        self.Y: set[Fact] = set()
        self.S: set[Fact] = set()
        self.V = Facts()
        self.considered: list[tuple[int, Instance]] = []  # in which line
        self._new: list[Fact] = []  # what C.next returns
        D, O = dict.fromkeys(gone), set[Fact]()
        for fact in D:  # 2
            self.E.pop(fact, None)
        waiting = deque(D)
        while waiting:  # 3
            fact = waiting.popleft()
            self.check_all(fact)  # 4
            self.S.update(self.C.keys() - self.P)  # 5
            if fact not in self.P:  # 6
                for instance in self.rules.touching(fact, self.I):  # 7, 8
                    if O.isdisjoint(instance.body):
                        self.considered.append((9, instance))
                        if instance.head not in D:
                            D[instance.head] = None
                            waiting.append(instance.head)
                O.add(fact)  # 10
        for fact in D:  # 11
            if fact not in self.P:
                self.I.remove(fact)

    def check_all(self, fact: Fact) -> None:
        calls = [self._check(fact)]
        while calls:
            support = next(calls[-1], None)
            if support is None:
                calls.pop()
            else:
                calls.append(self._check(support))

    def _check(self, fact: Fact) -> Iterator[Fact]:
        """Algorithm 2."""
        if fact in self.C:  # 12
            return
        self.C[fact] = None
        self._new.append(fact)
        self._saturate()  # 13
        if fact in self.P:  # 14
            return
        for instance in self.rules.deriving(fact, self.I):  # 15
            if self.S.isdisjoint(instance.body):
                self.considered.append((16, instance))
                yield from instance.body  # 17, 18
                if fact in self.P:  # 19
                    return

    def _saturate(self) -> None:
        """Algorithm 3."""
        N = deque(fact for fact in self._new if fact in self.E or fact in self.Y)  # 20, 21
        self._new = []
        self.P.update(N)  # 22
        while N:  # 23
            fact = N.popleft()
            self.V.add(fact)  # 24
            for instance in self.rules.touching(fact, self.V):  # 25, 26
                self.considered.append((27, instance))
                head = instance.head
                if head not in self.C:
                    self.Y.add(head)  # 29
                elif head not in self.P:
                    self.P.add(head)  # 28
                    N.append(head)

"""A stream of updates, one rule application per iteration, with a look at the next update.

The common part of both marking algorithms: the loop of Algorithm 1 in Illich and Glimm (2025a)
without its blocks. At most two updates are known at a time: U1, which is being worked on, and U2,
which follows.

# I materialisation   U1, U2 as above   E⁻, E⁺ facts that an update deletes and adds
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bench.stepwise.matching import Fact, Frontier, Known, Rules


class Update(NamedTuple):
    """E⁻ and E⁺, both of extensional relations: E⁻ holds existing facts, E⁺ absent ones."""

    deleted: tuple[Fact, ...] = ()
    inserted: tuple[Fact, ...] = ()


class Marking(ABC):
    """A running algorithm. `looks=False` makes it the classical one, which sees only U1."""

    def __init__(self, rules: Rules, facts: Iterable[Fact] = (), looks: bool = True) -> None:
        self.rules = rules
        self.I = Known(rules, facts)
        self.looks = looks
        self.U1: Update | None = None
        self.U2: Update | None = None
        self.counts = Counter[str]()
        self.iterations = 0
        self.instances = 0  # instances looked at, whether or not they were applied
        self._ended = False

    def process(self, stream: Iterable[Update | None]) -> Iterator[frozenset[Fact]]:
        """The materialisation after each update."""
        for block in self.steps(stream):
            if block == "g":
                yield frozenset(self.I)

    def steps(self, stream: Iterable[Update | None]) -> Iterator[str]:
        """The iterations, by the letters of their blocks. A None in the stream: no update yet."""
        updates = iter(stream)
        self._ended = False
        while True:
            while self.U1 is None and not self._ended:  # lines 4 to 6: wait
                self.U1 = self._next(updates)
                if self.U1 is not None:
                    self.begin(self.U1)
            if self.U1 is None:
                return
            if self.looks and self.U2 is None and not self._ended:  # lines 7 to 9: once
                self.U2 = self._next(updates)
                if self.U2 is not None:
                    self.look(self.U1, self.U2)
            self.iterations += 1
            block = self.iterate()
            if block == "g":
                self.U1, self.U2 = self.U2, None
            yield block

    def _next(self, updates: Iterator[Update | None]) -> Update | None:
        try:
            return next(updates)
        except StopIteration:
            self._ended = True
            return None

    def looked(self, instances: int) -> None:
        self.instances += instances

    def frontier(self, facts: Iterable[Fact] = ()) -> Frontier:
        return Frontier(self.I, facts, self.looked)

    @abstractmethod
    def begin(self, update: Update) -> None:
        """A new update is there that was not looked at before."""

    @abstractmethod
    def look(self, current: Update, following: Update) -> None:
        """The next update is there: mark what it changes."""

    @abstractmethod
    def iterate(self) -> str:
        """At most one rule application; returns the letter of the block that acted, g last."""

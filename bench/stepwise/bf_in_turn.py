"""Backward/Forward with marking in the order of the authors' own program, fact by fact.

Illich and Glimm (2025) measured a program in Constraint Handling Rules (dred-mark-eval, folder
`bf`). A fact that changes state acts at once, and the facts whose state it changes act before it
continues. This is Algorithm 1 except for its order and these details:
  - affected and marked facts are checked one after the other, each until it is proved or deleted,
    while in Algorithm 1 all marked facts wait at once;
  - a delayed fact is proved, so block c) skips it;
  - an instance with a fact that is being checked is not chained back over: that fact will act.

Their program delays nothing while marked facts are checked (`MarkedFirst`), so it chains back from
facts that could have been proved already. That explains the rise of backward applications in the
paper's tables; without that rule (`InTurn`) marks do not change their number.

# states of facts: C being checked   P proved   Y delayed   D deleted; others have none
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from bench.stepwise.bf_marking import BackwardForward
from bench.stepwise.matching import Fact, Instance


class InTurn(BackwardForward):
    """Counts as `BackwardForward` does."""

    def _reset(self, deleted: Iterable[Fact], waiting: Iterable[Fact] = ()) -> None:
        super()._reset(deleted)
        self._state = dict.fromkeys(self.D, "D")
        self._first = deque(waiting)
        self._delays = True

    def iterate(self) -> str:
        if self.phase == 2:
            return "f" if self.add_derived() else self.prepare_next()
        while self._first:
            fact = self._first.popleft()
            if fact not in self._state:
                self._check(fact)
                return "b"
        if self.find_affected():
            return "c"
        self.finish_deletions()
        return "e"

    def find_affected(self) -> bool:
        r = self._affected.first(lambda r: r.head not in self._state)
        if r is None:
            return False
        self.counts["deletions"] += 1
        self._check(r.head)
        return True

    def _check(self, fact: Fact) -> None:
        """Prove it and what it needs, or delete it with everything that was checked in vain."""
        self._state[fact] = "C"
        self._met = [fact]
        self._follow(self._act(fact))
        for met in self._met:
            if self._state[met] == "C":
                self._state[met] = "D"
                self.D[met] = None
                self._affected.put(met)

    def _follow(self, deeds: Iterator[Fact]) -> None:
        """Facts that have changed state act before the fact that changed them continues."""
        stack = [deeds]
        while stack:
            fact = next(stack[-1], None)
            if fact is None:
                stack.pop()
            else:
                stack.append(self._act(fact))

    def _act(self, fact: Fact) -> Iterator[Fact]:
        """Chain back, then forward. Yields each fact whose state it has changed."""
        states, state = self._state, self._state[fact]
        found = self.I.deriving(fact) if state == "C" else self.I.touching(fact)
        self.looked(len(found))
        for r in found:
            if states.get(r.head) == "C":
                yield from self._chain_back(r)
                if state == "C" and states[fact] != "C":
                    return
        if state != "Y":
            yield from self._chain_forward(found)

    def _chain_back(self, r: Instance) -> Iterator[Fact]:
        """Check the unproved facts of the body, or prove those that are explicit or delayed."""
        found = [(f, self._state.get(f)) for f in r.body]
        needed = [(f, state) for f, state in found if state != "P"]
        if not needed or any(state in ("C", "D") for _, state in needed):
            return
        self.counts["backward"] += 1
        for f, _ in needed:  # before any of them acts
            self._state[f] = "C"
        for f, state in needed:
            if state == "Y" or self.rules.is_explicit(f):
                self._state[f] = "P"
            else:
                self._met.append(f)
            yield f

    def _chain_forward(self, instances: Iterable[Instance]) -> Iterator[Fact]:
        """Heads of proved bodies are proved if they are being checked, else delayed."""
        get = self._state.get
        for r in instances:
            state = get(r.head)
            wanted = state == "C" or (state is None and self._delays)
            if wanted and all(get(f) == "P" for f in r.body):
                self.counts["forward"] += 1
                self._pass_on(r)
                self._state[r.head] = "P" if state == "C" else "Y"
                yield r.head


class MarkedFirst(InTurn):
    """Delay nothing before all marked facts are checked, as the authors' program does."""

    def _reset(self, deleted: Iterable[Fact], waiting: Iterable[Fact] = ()) -> None:
        super()._reset(deleted, waiting)
        self._delays = not self._first

    def find_affected(self) -> bool:
        if not self._delays:
            self._delays = True
            for fact in [fact for fact, state in self._state.items() if state == "P"]:
                self._follow(self._chain_forward(self.I.touching(fact)))
        return super().find_affected()

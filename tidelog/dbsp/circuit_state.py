"""The state of the interpreter's circuit: facts by relation, rewrites by provenance."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidelog.dbsp.grounding import GroupFold, Signal, Stage
from tidelog.dbsp.trace import Batch, Match, Trace, Words, check, consolidated, none
from tidelog.program.rules import Rule


@dataclass(slots=True, eq=False)
class FactTable:
    """Facts of a relation, or groups of an aggregate: those that go into distinct, with the times
    of their derivations, and those that come out of it."""

    name: str
    width: int
    layer: int
    facts: Trace
    inputs: Trace
    readers: dict[int, list[PathNode]] = field(default_factory=dict)  # by layer
    changes: list[Batch] = field(default_factory=list)  # of this step
    again: dict[int, list[Words]] = field(default_factory=dict)  # rows to look at, by time
    fold: GroupFold | None = None
    signals: int = 0  # rules that derive it

    def net(self) -> Batch:
        """What has changed in all rounds together; the times mean nothing."""
        if not self.changes:
            return none(self.width)
        batch = self.changes[0] if len(self.changes) == 1 else np.concatenate(self.changes)
        # A row that comes only, or goes only, does so in one round.
        weights = batch[:, -1]
        if (weights > 0).all() or (weights < 0).all():
            return batch
        batch = batch.copy()
        batch[:, -2] = 0
        return consolidated(batch)


@dataclass(slots=True, eq=False)
class PathNode:
    """Rewrites of one provenance: what a path of stages has found."""

    stage: Stage | None
    parent: PathNode | None
    layer: int
    depth: int
    width: int
    table: FactTable | None = None
    forward: tuple[tuple[Match, int], ...] = ()  # rewrites meet facts, with a sign each
    backward: tuple[tuple[Match, int], ...] = ()  # facts meet rewrites
    trace: Trace | None = None  # kept where something follows
    children: dict[Stage, PathNode] = field(default_factory=dict)
    signals: dict[Signal, int] = field(default_factory=dict)
    rules: dict[Rule, None] = field(default_factory=dict)  # whose paths go through it
    fresh: bool = True  # in this step: what it holds is still to come


class TraceSizes:
    """What traces hold, without going through all of them: only those are asked again that have
    changed since."""

    def __init__(self) -> None:
        self._known: dict[Trace, tuple[int, int]] = {}
        self._changed: dict[Trace, bool] = {}
        self._rewrites = self._bytes = 0

    def note(self, trace: Trace, rewrites: bool = False) -> None:
        """A trace has changed; it may be one of rewrites."""
        self._changed[trace] = rewrites

    def drop(self, trace: Trace) -> None:
        self._changed.pop(trace, None)
        self._set(trace, 0, 0)
        del self._known[trace]

    @property
    def rewrites(self) -> int:
        self._settle()
        return self._rewrites

    @property
    def bytes(self) -> int:
        self._settle()
        return self._bytes

    def _settle(self) -> None:
        for trace, rewrites in self._changed.items():
            self._set(trace, len(trace) if rewrites else 0, trace.memory())
        self._changed.clear()

    def _set(self, trace: Trace, rewrites: int, size: int) -> None:
        before = self._known.get(trace, (0, 0))
        self._rewrites += rewrites - before[0]
        self._bytes += size - before[1]
        self._known[trace] = (rewrites, size)


class Journal:
    """Batches that a step has added to traces, so that they can be taken back."""

    def __init__(self, ledger: TraceSizes) -> None:
        self._ledger = ledger
        self._added: list[tuple[Trace, Batch, bool]] = []

    def add(self, trace: Trace, batch: Batch, rewrites: bool = False) -> None:
        trace.add(batch)
        self.note(trace, batch, rewrites)

    def note(self, trace: Trace, batch: Batch, rewrites: bool = False) -> None:
        """The trace, which may be one of rewrites, has got the batch already."""
        self._added.append((trace, batch, rewrites))
        self._ledger.note(trace, rewrites)
        check(trace.top)

    def undo(self) -> None:
        for trace, batch, rewrites in reversed(self._added):
            trace.add(batch, -1)
            trace.top = 0
            self._ledger.note(trace, rewrites)
        self.clear()

    def clear(self) -> None:
        self._added.clear()

"""What a database keeps beside its facts, and how those who read and change them take turns."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from tidelog.control.limits import Interrupts
from tidelog.maintain.memory import Memory, ModuleKinds
from tidelog.plan.accept import Accepted
from tidelog.plan.rulebook import Rulebook
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Relation
from tidelog.transaction.refusals import ends_early
from tidelog.transaction.user_functors import Functors

LOOK = 0.1  # seconds between two looks for Ctrl-C, while others are waited for


@dataclass(slots=True)
class State:
    """What a database keeps between transactions, beside its facts."""

    book: Rulebook
    memory: Memory
    functors: Functors
    open: bool = False  # a transaction is under way
    lock: threading.Condition = field(default_factory=threading.Condition)  # to read or change
    changer: int = 0  # the thread that changes facts
    held: Counter[int] = field(default_factory=Counter)  # snapshots that are open, by thread
    waiting: deque[object] = field(default_factory=deque)  # who wants to change facts, or none to
    _shown: tuple[Rulebook | None, Mapping[str, Relation]] = (None, {})
    _initial: frozenset[str] = field(init=False)  # relations of the program at the start

    def __post_init__(self) -> None:
        self._initial = frozenset(self.book.relations)

    @classmethod
    def of(
        cls,
        accepted: Accepted,
        modules: ModuleKinds,
        functors: Mapping[str, Any] | None,
        one_stratum: bool = False,
    ) -> Self:
        """What a database begins with; `functors` are the functions that it is given."""
        typed, checked = accepted.typed, accepted.checked
        limits = checked.limits
        book = Rulebook.of(typed, checked, frozenset(limits) if one_stratum else None)
        pruned = {name for each in book.strata if each.pruned for name in each.relations}
        if pruned & limits.keys():
            told = ends_early(sorted(pruned & limits.keys()))
            raise TidelogError(f"error: {told} but what subsumes or chooses there must see all")
        known = Functors(typed.functors, functors, checked.numbered)
        known.use(checked.rules, accepted.sources)
        return cls(book, Memory(modules=modules, limits=limits), known)

    def visible(self, book: Rulebook) -> Mapping[str, Relation]:
        """The relations that deltas cover: the outputs, or all if the program names none."""
        known, visible = self._shown
        if known is not book:
            outputs = {d.relation for d in book.program.directives if d.action == "output"}
            visible = book.visible
            if outputs:
                # No directive could have named a relation that a rule added later.
                hidden = self._initial - outputs
                visible = {name: r for name, r in visible.items() if name not in hidden}
            self._shown = (book, visible)
        return visible

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Nobody reads in the block, and no snapshot is open: it waits for those of others."""
        me = threading.get_ident()
        with self._locked():
            if self.changer == me:  # a block inside another one
                yield
                return
            if me in self.held:
                advice = "close it before anything changes"
                raise TidelogError(f"error: a snapshot is open\n    {advice}")
            if self.waiting or self.held:
                self._queue(lambda: not self.held)
            self.changer = me
            try:
                yield
            finally:
                self.changer = 0

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Where a Ctrl-C is held back, it may still end the wait for others."""
        while not self.lock.acquire(timeout=LOOK):
            _look()
        try:
            yield
        finally:
            self.lock.release()

    def hold(self) -> int:
        """Nothing changes until this is released; returns what to release it by."""
        me = threading.get_ident()
        with self.lock:
            if self.changer != me and me not in self.held:
                self._queue(lambda: True)
            self.held[me] += 1
        return me

    def release(self, holder: int) -> None:
        with self.lock:
            self.held[holder] -= 1
            self.held = +self.held
            self.lock.notify_all()

    def _queue(self, free: Callable[[], bool]) -> None:
        """Wait until it is our turn, so that many readers do not keep a stream from going on."""
        ticket = object()
        self.waiting.append(ticket)
        try:
            while not self.lock.wait_for(lambda: self.waiting[0] is ticket and free(), LOOK):
                _look()
        finally:
            self.waiting.remove(ticket)
            if self.waiting:
                self.lock.notify_all()


def _look() -> None:
    """Has a block around this noted a Ctrl-C?"""
    with Interrupts(quiet=True) as interrupts:
        interrupts.check()

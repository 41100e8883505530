"""What a database keeps beside its facts, and how those who read and change them take turns."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from tidelog.control.limits import Interrupts
from tidelog.maintain.memory import Memory, ModuleKinds
from tidelog.plan.accept import Accepted
from tidelog.plan.rulebook import Rulebook
from tidelog.program.diagnostics import Diagnostic, ProgramError, Sources, TidelogError
from tidelog.program.functors import Functor, calls, declared
from tidelog.program.rules import Relation, Rule
from tidelog.program.suggestions import did_you_mean
from tidelog.program.syntax import Call, FunctorDecl, Span
from tidelog.transaction.refusals import ends_early

LOOK = 0.1  # seconds between two looks for Ctrl-C, while others are waited for


@dataclass(slots=True)
class State:
    """What a database keeps between transactions, beside its facts."""

    book: Rulebook
    memory: Memory
    functors: Functors
    open: bool = False  # a transaction is under way
    commits: int = 0  # so far
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
        """The state of a new database; `functors` are its Python functions."""
        typed, checked = accepted.typed, accepted.checked
        limits = checked.limits
        book = Rulebook.of(typed, checked, frozenset(limits) if one_stratum else None)
        pruned = {name for each in book.strata if each.pruned for name in each.relations}
        if pruned & limits.keys():
            ended = ends_early(sorted(pruned & limits.keys()))
            raise TidelogError(f"error: {ended} but subsumption and choice must see all facts")
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
        """Exclude readers during the block; wait until snapshots of other threads are closed."""
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
        """Hold off all changes until `release`; returns the argument for it."""
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


class Functors:
    """Functions by the name that rules call them by, `@` included."""

    def __init__(
        self,
        declarations: Iterable[FunctorDecl],
        given: Mapping[str, Any] | None = None,
        numbered: Sequence[Span] = (),
    ) -> None:
        self._numbered = numbered  # where `autoinc()` stands
        self._declared = {f"@{each.name}": each for each in declarations}
        self.functions: dict[str, Functor] = {}
        self._used: dict[str, Call] = {}  # by rules: the first call of each
        if given is not None and not isinstance(given, Mapping):
            raise TidelogError(f"error: expected functors as a mapping by name, got {given!r}")
        for name, function in (given or {}).items():
            self.bind(name, function)

    def bind(
        self,
        name: str,
        function: Callable[..., Any] | Functor,
        *,
        vectorised: bool | None = None,
        pure: bool | None = None,
        safe: bool | None = None,
    ) -> None:
        """Let the program's functor be this function; what is given here counts more than what
        its decorator says."""
        key = f"@{name}"
        declaration = self._declared.get(key)
        if declaration is None:
            raise TidelogError(
                f"error: the program declares no functor {name}\n    {self._advice(str(name))}"
            )
        if key in self._used and key in self.functions:
            raise TidelogError(
                f"error: functor {name} is in use, and its results are remembered\n"
                "    give another function to another database"
            )
        if not callable(function):
            raise TidelogError(f"error: functor {name} must be a function, got {function!r}")
        known = function if isinstance(function, Functor) else declared(function)
        made = Functor(
            known.function,
            known.vectorised if vectorised is None else vectorised,
            known.pure if pure is None else pure,
            known.safe if safe is None else safe,
        )
        if made.vectorised and not declaration.parameters:
            raise TidelogError(
                f"error: functor {name} takes no arguments, so it cannot be vectorised\n"
                "    it is called once; leave vectorised out"
            )
        self.functions[key] = made

    def _advice(self, name: str) -> str:
        names = [key[1:] for key in self._declared]
        known = f"it declares {', '.join(names)}"
        return did_you_mean(name, names, known if names else f".functor {name}(…): … declares it")

    def use(self, rules: Iterable[Rule], sources: Sources | None = None) -> None:
        """Record rules that will be evaluated: the functors that they call must have functions."""
        if not self._declared:
            return
        found = {call.functor: call for rule in rules for call in calls(rule)}
        found.pop("autoinc", None)
        missing = [call for name, call in found.items() if name not in self.functions]
        if missing:
            advice = "give it one: functors={{{0!r}: …}}, or --functors MODULE.py"
            raise ProgramError(
                [
                    Diagnostic(
                        f"functor {call.functor[1:]} has no function",
                        call.at if call.at.line else None,
                        advice.format(call.functor[1:]),
                    )
                    for call in missing
                ],
                sources,
            )
        self._used = {**found, **self._used}

    def require_stable(self, rules: Iterable[Rule] = (), sources: Sources | None = None) -> None:
        """Refuse changes of facts and rules where a functor may change its mind: what was derived
        by one result must go by the same one. Those in use are looked at, and those of `rules`."""
        more = {call.functor: call for rule in rules for call in calls(rule)}
        counter = more.pop("autoinc", None)
        if self._numbered or counter is not None:
            place = self._numbered[0] if counter is None else counter.at
            message = "autoinc() numbers facts once, so facts and rules cannot be changed"
            advice = "give the facts numbers of their own"
            raise ProgramError([Diagnostic(message, place, advice)], sources)
        for name, call in {**self._used, **more}.items():
            function, declaration = self.functions.get(name), self._declared[name]
            if function is None or function.safe or (function.pure and not declaration.stateful):
                continue
            why = "is declared stateful" if declaration.stateful else "is not pure"
            advice = "declare it safe if that does not matter: @tidelog.functor(safe=True)"
            message = f"functor {name[1:]} {why}, so facts and rules cannot be changed"
            at = call.at if call.at.line else None
            raise ProgramError([Diagnostic(message, at, advice)], sources)

"""Transactions: facts and rules change together, or not at all."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tidelog.deltas import Delta, Part
from tidelog.engines.local.engine import LocalEngine
from tidelog.engines.local.sets import LocalSet, Rows, Saved
from tidelog.functors import Functors
from tidelog.io.frames import to_table
from tidelog.limits import Interrupts, Limits, Show, Watch
from tidelog.maintain.algorithms import ALGORITHMS
from tidelog.maintain.marking import Marks
from tidelog.maintain.update import (
    Algorithm,
    Memory,
    Report,
    Update,
    WholeAlgorithm,
    update,
)
from tidelog.plan.draft import did_you_mean
from tidelog.plan.rulebook import Rulebook
from tidelog.program.changes import FactChange, Op, RuleChange
from tidelog.program.diagnostics import DataError, Diagnostic, ProgramError, Sources, TidelogError
from tidelog.program.rules import Relation, Rule
from tidelog.program.syntax import Clause, Span, Value
from tidelog.program.table import Table
from tidelog.text import parse
from tidelog.text.changes import change_text

Row = tuple[Value, ...]
Ids = NDArray[np.uint32]

LOOK = 0.1  # seconds between two looks for Ctrl-C, while others are waited for


@dataclass(slots=True)
class State:
    """What a database keeps between transactions, beside its facts."""

    book: Rulebook
    memory: Memory = field(default_factory=Memory)
    functors: Functors = field(default_factory=lambda: Functors(()))
    open: bool = False  # a transaction is under way
    lock: threading.Condition = field(default_factory=threading.Condition)  # to read or change
    changer: int = 0  # the thread that changes facts
    held: Counter[int] = field(default_factory=Counter)  # snapshots that are open, by thread
    waiting: deque[object] = field(default_factory=deque)  # who wants to change facts, or none to
    shown: tuple[Rulebook | None, Mapping[str, Relation]] = (None, {})  # what deltas cover

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


def check_algorithm(name: str) -> None:
    if name not in ALGORITHMS:
        advice = did_you_mean(str(name), ALGORITHMS, f"there are {', '.join(ALGORITHMS)}")
        raise TidelogError(f"error: there is no algorithm {name!r}\n    {advice}")


def no_relation(name: object, known: Collection[str]) -> DataError:
    if not isinstance(name, str):
        return DataError(f"error: a relation is given by its name; {name!r} is none")
    advice = did_you_mean(name, known, f"the program has {', '.join(known) or 'none'}")
    return DataError(f"error: there is no relation {name}\n    {advice}")


def ends_early(limits: Iterable[str]) -> str:
    return f"`.limitsize` ends the evaluation of {', '.join(limits)} early,"


class Transaction:
    """Changes of facts and rules that take effect together.

    Made by `Database.transaction`. A transaction is a sequence: of several changes of one fact
    the last counts. Leaving the `with` block commits; an exception in it, or in the commit,
    leaves everything as it was before.

    >>> from tidelog import Database
    >>> db = Database("path(x, y) :- edge(x, y).", facts={"edge": [(1, 2), (2, 3)]})
    >>> with db.transaction() as tx:
    ...     name = tx.add_rule("path(x, z) :- path(x, y), edge(y, z).")
    >>> print(tx.delta)
    +path(1, 3).
    >>> with db.transaction() as tx:
    ...     tx.remove_rule(name)
    'path.ebf846'
    >>> print(tx.delta)
    -path(1, 3).
    """

    def __init__(
        self,
        engine: LocalEngine,
        state: State,
        *,
        algorithm: str,
        strict: bool,
        dry_run: bool,
        limits: Limits,
        progress: Show | None,
    ) -> None:
        check_algorithm(algorithm)
        state.functors.require_stable()
        if state.memory.limits:
            raise TidelogError(
                f"error: {ends_early(state.memory.limits)} so nothing can keep it up to date\n"
                "    remove the directive, or evaluate the program once, by `tidelog run`"
            )
        self._state = state
        self._engine = engine
        self._algorithm = algorithm
        self._strict = strict
        self._dry_run = dry_run
        self._limits = limits
        self._progress = progress
        self._gone: dict[str, None] = {}  # names of rules to remove, and of rules to add
        self._come: dict[str, Clause] = {}
        self._replaced: tuple[str, ...] = ()  # clauses that leave rules behind
        self._declared: list[str] = []
        self._pending: dict[str, dict[Row, FactChange]] = {}
        self._sources: Sources | None = None
        self._takes = False  # whether a fact was explicit and is not, even if it is again
        self._gives = False  # or was not and is, even if it is not again
        self._delta: Delta | None = None
        self._schema: tuple[Rulebook | None, Mapping[str, Relation]] = (None, {})
        self.report = Report()
        self.seconds = 0.0
        self.committed = False
        with state.lock:  # others may read: until the commit, but not in the midst of a change
            if state.open:
                raise TidelogError(
                    "error: a transaction is open\n"
                    "    commit it or roll it back before the next one"
                )
            self._book = state.book
            self._before = engine.sizes()
            engine.begin()
            self._explicit = engine.none()  # X: explicit facts whose state is another now
            state.open = True

    # Changes.

    def insert(self, relation: str, rows: Any) -> None:
        """Make facts explicit: rows of values, or a pandas, Polars or Arrow frame."""
        self._change_table("+", relation, rows)

    def delete(self, relation: str, rows: Any) -> None:
        """Make facts explicit no more. One that rules derive stays true."""
        self._change_table("-", relation, rows)

    def add_rule(self, rule: str | Clause, sources: Sources | None = None) -> str:
        """Add a rule, given as text; returns the name that it can be removed by."""
        self._check_open()
        clause, sources = clause_of(rule, sources)
        book, name, new = self._book.plus(clause, sources)
        self._state.functors.use(new, sources)
        self._state.functors.require_stable(new, sources)
        if name in self._book.clauses and self._strict:
            _refuse("the rule is there already", clause, sources)
        with self._state.lock:
            for added in book.relations.keys() - self._book.relations.keys():
                self._engine.declare(book.relations[added])
                self._declared.append(added)
        self._book = book
        if name in self._gone:
            del self._gone[name]
        elif name not in self._state.book.clauses:
            self._come[name] = book.clauses[name]
        return name

    def remove_rule(self, rule: str | Clause, sources: Sources | None = None) -> str:
        """Remove a rule, given by its text, up to names of variables, or by its name."""
        self._check_open()
        return self._remove(rule, sources, None)

    def _remove(self, rule: str | Clause, sources: Sources | None, at: Span | None) -> str:
        name = find_rule(self._book, rule, sources, at)
        self._book = self._book.without([name])[0]
        if name in self._come:
            del self._come[name]
        else:
            self._gone[name] = None
        return name

    def change(self, change: FactChange | RuleChange, sources: Sources | None = None) -> None:
        """One change of either kind; `sources` has the text that messages should show."""
        self._check_open()
        check_change(change)
        if isinstance(change, RuleChange):
            if change.op == "+":
                self.add_rule(change.rule, sources)
            else:
                self._remove(change.rule, sources, change.at if change.at.line else None)
            return
        self._relation(change.relation)
        pending = self._pending.setdefault(change.relation, {})
        try:
            before = pending.get(change.row)
        except TypeError:
            raise no_row(change.row) from None
        if self._strict:
            self._sources = sources
            if before is None:
                self._be_strict(change)
            elif before.op == change.op:
                raise _strict(change, "the transaction has the same change twice", sources)
        pending[change.row] = change

    def _change_table(self, op: Op, name: str, rows: Any) -> None:
        self._check_open()
        relation = self._relation(name)
        table = to_table(relation, rows)
        with self._state.lock, Interrupts(whole=True):
            self._flush()
            if self._strict:
                for row in dict.fromkeys(table.rows()):
                    self._be_strict(FactChange(op, name, row))
            self._set(op, name, table)

    def _set(self, op: Op, name: str, table: Table) -> None:
        """Facts are explicit now, or no more; X has those that were not so before."""
        engine = self._engine
        r, rows, explicit = engine.explicit_rows(name, table)
        rows = rows[~explicit] if op == "+" else rows[explicit]
        if not len(rows):
            return
        if op == "+":
            engine.explicit.add(r, rows)
        else:
            engine.explicit.remove(r, rows)
        self._note_explicit(op, r, rows)

    def _note_explicit(self, op: Op, r: int, rows: Rows) -> None:
        """Facts have changed, that were not so just before."""
        X = self._explicit
        self._note_sign(op)
        again, fresh = X.those(r, rows), X.others(r, rows)
        X.remove(r, again)
        X.add(r, fresh)

    def _note_sign(self, op: Op) -> None:
        self._takes = self._takes or op == "-"
        self._gives = self._gives or op == "+"

    def _flush(self) -> None:
        """Set the facts that came one by one."""
        for name, changes in self._pending.items():
            for op in ("+", "-"):
                rows = [row for row, change in changes.items() if change.op == op]
                if rows:
                    self._set(op, name, to_table(self._book.relations[name], rows))
        self._pending.clear()

    def _be_strict(self, change: FactChange) -> None:
        relation = self._book.relations[change.relation]
        with self._state.lock:
            explicit = self._engine.is_explicit(relation, change.row)
            derived = not explicit and self._engine.holds(relation, change.row)
        if change.op == "+" and explicit:
            raise _strict(change, "the fact is there already", self._sources)
        if change.op == "-" and not explicit:
            why = "the fact is derived, not explicit" if derived else "there is no such fact"
            raise _strict(change, why, self._sources)

    @property
    def schema(self) -> Mapping[str, Relation]:
        """The relations by name, those of rules that the transaction adds included."""
        known, schema = self._schema
        if known is not self._book:
            schema = self._book.visible
            self._schema = (self._book, schema)
        return schema

    def _relation(self, name: str) -> Relation:
        relation = self._book.relations.get(name) if isinstance(name, str) else None
        if relation is None or relation.hidden:
            known = [n for n, r in self._book.relations.items() if not r.hidden]
            raise no_relation(name, known)
        return relation

    # The end.

    @property
    def delta(self) -> Delta:
        """What the transaction changed; known once it is committed."""
        if self._delta is None:
            raise TidelogError("error: the transaction is not committed: it has no delta yet")
        return self._delta

    def commit(self) -> Delta:
        """Let the changes take effect; returns what they changed.

        Ctrl-C before that leaves everything as it was; one that comes later is raised when the
        commit is done.
        """
        self._check_open()
        began = time.perf_counter()
        try:
            with self._state.changing():
                self._commit()
        finally:
            if not self._closed:  # a snapshot is open
                self.rollback()
        self.seconds = time.perf_counter() - began
        return self.delta

    def _commit(self) -> None:
        with Interrupts(whole=True) as interrupts:
            try:
                self._changes(interrupts)
                interrupts.check()
                if not self._dry_run:
                    self._adopt()
            except BaseException:
                self._back()
                raise
            if self._dry_run:
                self._back()
            self.committed = True

    def _changes(self, interrupts: Interrupts) -> None:
        """Bring the materialisation up to date, and note what that changed."""
        self._flush()
        self._book = self._book.settled()
        watch = Watch(self._limits, self._engine.facts, self._progress, interrupts)
        self._engine.watch(watch.tick)
        phases = self._maintain(watch)
        watch.tick(None)
        self._delta = self._summed(phases)

    def rollback(self) -> None:
        """Forget the changes."""
        self._check_open()
        with self._state.lock, Interrupts(whole=True):
            self._back()

    def _maintain(self, watch: Watch) -> list[tuple[Saved, Saved]]:
        """What went and came in each phase: rules that go and facts first, under the strata of
        before; then rules that come, under the new ones. Where none go, one phase does all."""
        restated: list[str] = []
        if self._come and self._book.with_aggregates:
            restated = _restated(self._state.book, self._book)
        names = self._replaced = (*self._gone, *restated)
        book, gone = self._state.book.without(names) if names else (self._state.book, ())
        come = _new_rules(self._book, (*self._come, *restated), book)
        if not gone or not callable(ALGORITHMS[self._algorithm]):
            return [self._phase(watch, self._explicit, self._book, gone, come)]
        # X has facts of relations that the book knows, and of those that rules bring only now.
        X, collect = self._explicit, self._engine.collect
        given = self._engine.relations(X) if self._declared else []
        new = [name for name in given if name not in book.stratum_of]
        known = X if not new else collect(X, [name for name in given if name not in new])
        phases = [self._phase(watch, known, book, gone, ())]
        if come:
            phases.append(self._phase(watch, collect(X, new), self._book, (), come))
        return phases

    def _phase(
        self,
        watch: Watch,
        X: LocalSet,
        book: Rulebook,
        gone: Sequence[Rule],
        come: Sequence[Rule],
    ) -> tuple[Saved, Saved]:
        engine, memory = self._engine, self._state.memory
        D, A = engine.none(), engine.none()
        u = Update(engine, engine.explicit, engine.all, X, D, A, watch, memory, self.report)
        u.marks, u.only_gives, u.only_takes = self._marks(X), not self._takes, not self._gives
        update(u, book.strata, book.stratum_of, book.readers, gone, come, self._way())
        self._finished(u)
        return engine.save(D), engine.save(A)

    def _way(self) -> Algorithm | WholeAlgorithm:
        return ALGORITHMS[self._algorithm]

    def _finished(self, u: Update) -> None:
        """A phase is done."""

    def _marks(self, X: LocalSet) -> Marks | None:
        """What is known of the update that comes after this one."""
        return None

    def _summed(self, phases: Sequence[tuple[Saved, Saved]]) -> Delta:
        return self._changed(*_net(phases))

    def _changed(self, went: Saved, came: Saved) -> Delta:
        """The delta of the relations that a user sees."""
        engine, book = self._engine, self._book
        names = {engine.name(r): r for r in went.keys() | came.keys()}
        parts: dict[str, Part] = {}
        visible = self._visible()
        for name in sorted(names.keys() & visible.keys(), key=book.place_of):
            r = names[name]
            rows: dict[Op, Ids] = {"+": came.get(r, _NOTHING), "-": went.get(r, _NOTHING)}
            sizes = {op: len(ids) for op, ids in rows.items()}
            parts[name] = Part(visible[name], sizes, partial(_decode, engine, visible[name], rows))
        return Delta(parts, visible)

    def _visible(self) -> Mapping[str, Relation]:
        known, visible = self._state.shown
        if known is not self._book:
            book = self._book
            outputs = {d.relation for d in book.program.directives if d.action == "output"}
            visible = book.visible
            if outputs:
                visible = {name: r for name, r in visible.items() if name in outputs}
            self._state.shown = (book, visible)
        return visible

    def _adopt(self) -> None:
        """The changes are made: keep the rules, and give back what is no longer needed."""
        old, engine = self._state.book, self._engine
        self._state.book = self._book
        engine.end(undo=False)
        engine.sweep(self._before)
        self._state.memory.settle(undone=False)
        kept = self._book.uses
        engine.forget(
            [rule for name in self._replaced for rule in old.rules[name] if rule not in kept]
        )
        self._close()

    def _back(self) -> None:
        """The facts and the rules as they were, and nothing left of this."""
        engine = self._engine
        self._undo_explicit()
        self._pending.clear()
        engine.end(undo=True)
        engine.sweep(self._before)
        self._state.memory.settle(undone=True)
        for name in self._declared:
            engine.undeclare(name)
        known = self._state.book.uses
        engine.forget(
            [rule for name in self._come for rule in self._book.rules[name] if rule not in known]
        )
        self._close()

    def _undo_explicit(self) -> None:
        X, explicit = self._explicit, self._engine.explicit
        for r in X.relations():
            rows = X.rows(r)
            were = explicit.has(r, rows)
            explicit.remove(r, rows[were])
            explicit.add(r, rows[~were])

    def _close(self) -> None:
        self._engine.watch(None)
        self._state.open = False
        self._closed = True

    _closed = False

    def _check_open(self) -> None:
        if self._closed:
            raise TidelogError("error: the transaction has ended: begin another one")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._closed:
            return
        if kind is None:
            self.commit()
        else:
            self.rollback()

    def __del__(self) -> None:
        if not self._closed and hasattr(self, "_explicit"):
            with self._state.lock:
                self._back()


_NOTHING = np.empty((0, 0), dtype=np.uint32)


def _decode(engine: LocalEngine, relation: Relation, rows: dict[Op, Ids], op: Op) -> Table:
    return engine.decoded(relation, rows[op])


def _net(phases: Sequence[tuple[Saved, Saved]]) -> tuple[Saved, Saved]:
    """What went and what came, over phases: what went and came again did neither."""
    if len(phases) == 1:
        return phases[0]
    events: dict[int, list[tuple[int, Ids]]] = {}
    for gone, new in phases:
        for sign, side in ((-1, gone), (1, new)):
            for r, rows in side.items():
                events.setdefault(r, []).append((sign, rows))
    went: Saved = {}
    came: Saved = {}
    for r, mine in events.items():
        went[r], came[r] = _summed(mine)
    return went, came


def _summed(events: Sequence[tuple[int, Ids]]) -> tuple[Ids, Ids]:
    """Rows that went once more than they came, and the other way round."""
    rows = np.concatenate([rows for _, rows in events])
    if len({sign for sign, _ in events}) == 1:
        return (rows, rows[:0]) if events[0][0] < 0 else (rows[:0], rows)
    signs = np.repeat([sign for sign, _ in events], [len(rows) for _, rows in events])
    _, where, which = np.unique(_numbered(rows), return_index=True, return_inverse=True)
    sums = np.bincount(which.reshape(-1), weights=signs)
    return rows[where[sums < 0]], rows[where[sums > 0]]


def _numbered(rows: Ids) -> NDArray[np.int64]:
    """A number for every row, the same where rows are."""
    numbers = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        pairs = (numbers << np.int64(32)) | column.astype(np.int64)
        numbers = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    return numbers


def _restated(before: Rulebook, after: Rulebook) -> list[str]:
    """Clauses that stay, and are put into other rules now."""
    return [name for name, rules in after.rules.items() if before.rules.get(name, rules) != rules]


def _new_rules(after: Rulebook, come: Iterable[str], before: Rulebook) -> tuple[Rule, ...]:
    """Core rules that the added clauses bring and that were not there, as the strata have them."""
    found: dict[Rule, None] = {}
    for name in come:
        for rule in after.rules[name]:
            if rule not in before.uses:
                stratum = after.strata[after.stratum_of[rule.head.relation]]
                found.setdefault(stratum.rules[stratum.rules.index(rule)])
    return tuple(found)


def clause_of(rule: str | Clause, sources: Sources | None) -> tuple[Clause, Sources | None]:
    if isinstance(rule, Clause):
        return rule, sources
    if not isinstance(rule, str):
        raise TidelogError(f"error: a rule is text; {rule!r} is none")
    text = rule if rule.rstrip().endswith(".") else rule + "."
    parsed = parse(text, "<rule>")
    errors = [d for d in parsed.diagnostics if d.severity == "error"]
    program = parsed.program
    if not errors and (len(program.clauses) != 1 or program.facts or program.relations):
        advice = "a rule has a head and a body: path(x, z) :- path(x, y), edge(y, z)."
        errors = [Diagnostic("this is not one rule", None, advice)]
    if errors:
        raise ProgramError(errors, parsed.sources)
    return program.clauses[0], parsed.sources


def find_rule(book: Rulebook, rule: str | Clause, sources: Sources | None, at: Span | None) -> str:
    """The name of a rule that is there, given by its text, its clause, or its name."""
    if not isinstance(rule, str) or (rule not in book.clauses and ":-" in rule):
        rule, sources = clause_of(rule, sources)
    return book.find(rule, sources, at)


def no_row(row: object) -> DataError:
    return DataError(f"error: a fact's row is a tuple; {row!r} is none")


def check_change(change: object) -> None:
    if not isinstance(change, FactChange | RuleChange):
        raise TidelogError(
            f"error: a change is a FactChange or a RuleChange; {change!r} is neither"
        )
    if change.op not in ("+", "-"):
        raise TidelogError(f"error: a change has the sign + or -; {change.op!r} is neither")


def _refuse(message: str, clause: Clause, sources: Sources | None) -> None:
    raise ProgramError([Diagnostic(message, clause.at)], sources)


def _strict(change: FactChange, why: str, sources: Sources | None) -> TidelogError:
    message = f"{why}: {change_text(change)}"
    advice = "without strict mode such a change does nothing"
    if change.at.line:
        return ProgramError([Diagnostic(message, change.at, advice)], sources)
    return DataError(f"error: {message}\n    {advice}")

"""Transactions: facts and rules change together, or not at all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Self

from tidelog.control.limits import Interrupts, LimitWatch, guarded, naming
from tidelog.engine import FactSet, Saved
from tidelog.formats.byte_source import DistinctFacts
from tidelog.formats.frames import rereadable, to_table
from tidelog.maintain.driver.algorithms import ALGORITHMS
from tidelog.maintain.driver.marking import Marks
from tidelog.maintain.driver.update_loop import update
from tidelog.maintain.report import Report
from tidelog.maintain.update import Algorithm, Update
from tidelog.plan.rulebook import Rulebook
from tidelog.program.changes import FactChange, Op, RuleChange
from tidelog.program.diagnostics import Diagnostic, ProgramError, Sources, TidelogError, during
from tidelog.program.rules import Relation, Rule
from tidelog.program.suggestions import suggestion
from tidelog.program.syntax import Clause, Span, Value
from tidelog.transaction.core import Core, Options
from tidelog.transaction.delta import Delta, Origin
from tidelog.transaction.refusals import ends_early, no_relation, no_row, strict_error
from tidelog.transaction.rule_text import clause_of, find_rule

Row = tuple[Value, ...]

PORTION = 512  # changes between two looks at the limits
MANY = 2**14  # changes that take long enough to be guarded while they become columns


def check_algorithm(name: str) -> None:
    if name not in ALGORITHMS:
        advice = suggestion(str(name), ALGORITHMS)
        raise TidelogError(f"error: unknown algorithm {name!r}\n    {advice}")


def check_change(change: object) -> None:
    if not isinstance(change, FactChange | RuleChange):
        raise TidelogError(f"error: expected a FactChange or a RuleChange, got {change!r}")
    if change.op not in ("+", "-"):
        raise TidelogError(f"error: expected the sign + or - of a change, got {change.op!r}")


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
    'path.fb6ab4a45a472548'
    >>> print(tx.delta)
    -path(1, 3).
    """

    def __init__(self, core: Core, options: Options, marks: Marks | None = None) -> None:
        backend, state = core.backend, core.state
        backend.check_algorithm(options.algorithm)
        state.functors.require_stable()
        if state.memory.limits:
            raise TidelogError(
                f"error: {ends_early(state.memory.limits)} so nothing can keep it up to date\n"
                "    remove the directive, or evaluate the program once, by `tidelog run`"
            )
        self._state = state
        self._backend = backend
        self._engine = engine = backend.store
        self._options = options
        self._explain = core.explain
        self._marks = marks
        self._removed: dict[str, None] = {}  # names of rules to remove, and of rules to add
        self._added: dict[str, Clause] = {}
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
        self.reading_seconds = 0.0  # spent reading changes; they count towards the limit
        self._reading = LimitWatch(options.limits, lambda: 0, began=math.inf)
        self._inserted = DistinctFacts(options.limits.max_facts)
        self._number = 0  # of facts that changed one by one
        self.committed = False
        with state.lock:  # others may read until the commit, but not in the middle of a change
            if state.open:
                raise TidelogError(
                    "error: a transaction is open\n"
                    "    commit it or roll it back before the next one"
                )
            self._book = state.book
            engine.begin()
            self._explicit = engine.none()  # X: explicit facts changed by this transaction
            state.open = True

    # Changes.

    def insert(self, relation: str, rows: Any) -> None:
        """Make facts explicit: rows of values, or a pandas, Polars or Arrow frame."""
        self._change_table("+", relation, rows)

    def delete(self, relation: str, rows: Any) -> None:
        """Delete explicit facts. A fact that rules also derive stays true."""
        self._change_table("-", relation, rows)

    def add_rule(self, rule: str | Clause, sources: Sources | None = None) -> str:
        """Add a rule, given as text; returns the name that it can be removed by."""
        self._check_open()
        clause, sources = clause_of(rule, sources)
        book, name, new = self._book.plus(clause, sources)
        self._state.functors.use(new, sources)
        self._state.functors.require_stable(new, sources)
        if name in self._book.clauses and self._options.strict:
            found = Diagnostic("the rule already exists", clause.at)
            raise ProgramError([found], sources)
        with self._state.lock:
            for declared in book.relations.keys() - self._book.relations.keys():
                self._engine.declare(book.relations[declared])
                self._declared.append(declared)
        self._book = book
        if name in self._removed:
            del self._removed[name]
        elif name not in self._state.book.clauses:
            self._added[name] = book.clauses[name]
        return name

    def remove_rule(self, rule: str | Clause, sources: Sources | None = None) -> str:
        """Remove a rule, given by its text, up to names of variables, or by its name."""
        self._check_open()
        return self._remove(rule, sources, None)

    def _remove(self, rule: str | Clause, sources: Sources | None, at: Span | None) -> str:
        name = find_rule(self._book, rule, sources, at)
        self._book = self._book.without([name])[0]
        if name in self._added:
            del self._added[name]
        else:
            self._removed[name] = None
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
        if self._options.strict:
            self._sources = sources
            if before is None:
                self._be_strict(change)
            elif before.op == change.op:
                raise strict_error(change, "the transaction has the same change twice", sources)
        pending[change.row] = change
        self._number += 1
        if self._number % PORTION == 0:
            self._check_reading()

    @contextmanager
    def reading(self, what: str = "") -> Iterator[None]:
        """Count the time in the block towards the limit on seconds of this update; an error about
        a limit says what was being done."""
        watch, before = self._reading, self._reading.began
        if math.isinf(before):  # and not in such a block already
            watch.began = time.perf_counter() - self.reading_seconds
        try:
            with naming(what):
                yield
        finally:
            if math.isinf(before):
                self.reading_seconds = time.perf_counter() - watch.began
                watch.began = before

    def _check_reading(self) -> None:
        """Check the limits while changes are added one by one."""
        self._inserted.look(sum(map(len, self._pending.values())), self._insertions)
        self._reading.look()

    def _insertions(self) -> int:
        return sum(c.op == "+" for changes in self._pending.values() for c in changes.values())

    def _change_table(self, op: Op, name: str, rows: Any) -> None:
        self._check_open()
        relation = self._relation(name)
        what = f"the changes of `{name}` were read"
        data = rows
        if not self._engine.reads(rows):
            short = isinstance(rows, list | tuple) and len(rows) <= MANY
            limited = nullcontext() if short else guarded(self._reading.check)
            with self.reading(), limited, during(what):
                most = self._options.limits.max_facts if op == "+" else None
                data = to_table(relation, rereadable(name, rows, most))

        def be_strict(row: Row) -> None:
            self._be_strict(FactChange(op, name, row))

        with self._changing_explicit():
            self._flush()
            self._set(op, name, data, be_strict if self._options.strict else None)

    def _set(
        self, op: Op, name: str, data: Any, check: Callable[[Row], None] | None = None
    ) -> None:
        """Insert or delete explicit facts, and record in X those that this changes."""
        if self._engine.change_explicit(op, name, data, self._explicit, check):
            self._takes = self._takes or op == "-"
            self._gives = self._gives or op == "+"

    def flush(self) -> None:
        """Apply pending changes to the explicit facts now; consequences follow at the commit."""
        self._check_open()
        with self._changing_explicit():
            self._flush()

    @contextmanager
    def _changing_explicit(self) -> Iterator[None]:
        """Readers see all changes of the block, or none."""
        with self._state.lock, Interrupts(whole=True), self._backend.errors():
            yield

    def _flush(self) -> None:
        for name, changes in self._pending.items():
            relation, many = self._book.relations[name], len(changes) > MANY
            for op in ("+", "-"):
                with guarded(self._reading.look) if many else nullcontext():
                    rows = [row for row, change in changes.items() if change.op == op]
                    table = to_table(relation, rows)
                if rows:
                    self._set(op, name, table)
        self._pending.clear()

    def _be_strict(self, change: FactChange) -> None:
        relation = self._book.relations[change.relation]
        with self._state.lock:
            explicit = self._engine.is_explicit(relation, change.row)
            derived = not explicit and self._engine.holds(relation, change.row)
        if change.op == "+" and explicit:
            raise strict_error(change, "the fact already exists", self._sources)
        if change.op == "-" and not explicit:
            why = "the fact is derived, not explicit" if derived else "there is no such fact"
            raise strict_error(change, why, self._sources)

    @property
    def schema(self) -> Mapping[str, Relation]:
        """The relations by name, including those of rules that the transaction adds."""
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
        """What the transaction changed; known after the commit."""
        if self._delta is None:
            raise TidelogError("error: the transaction is not committed: it has no delta yet")
        return self._delta

    def commit(self) -> Delta:
        """Apply the changes; returns the delta.

        Ctrl-C before this leaves everything as it was; one that comes later is raised after
        the commit.
        """
        self._check_open()
        began = time.perf_counter()
        with self._backend.committing(self.report):
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
                if not self._options.dry_run:
                    self._adopt()
            except BaseException:
                self._back()
                raise
            if self._options.dry_run:
                self._back()
            self.committed = True

    def _changes(self, interrupts: Interrupts) -> None:
        """Bring the materialisation up to date, and compute the delta."""
        for name in self._added:
            self._backend.check_rules(self._book.rules[name])
        with interrupts.explaining():
            with self.reading("the changes were read"):
                self._flush()
            self._book = self._book.settled()
            watch = LimitWatch(
                self._options.limits, self._engine.facts, self._options.progress, interrupts
            )
            watch.began -= self.reading_seconds
            self._engine.watch(watch.tick)
            phases = self._maintain(watch)
            watch.tick(None)
            self._delta = self._delta_of(phases)

    def rollback(self) -> None:
        """Discard the changes."""
        self._check_open()
        with self._state.lock, Interrupts(whole=True):
            self._back()

    def _maintain(self, watch: LimitWatch) -> list[tuple[Saved, Saved]]:
        """What each phase deleted and inserted: removed rules and facts first, then added rules.
        Without removed rules, one phase does all."""
        restated: list[str] = []
        if self._added and self._book.with_aggregates:
            restated = self._book.restated_since(self._state.book)
        names = self._replaced = (*self._removed, *restated)
        book, removed = self._state.book.without(names) if names else (self._state.book, ())
        added = self._book.new_rules((*self._added, *restated), book)
        book = book.settled()  # algorithms rely on strata whose relations depend on each other
        if not removed or not callable(ALGORITHMS[self._options.algorithm]):
            return self._at_once(watch, removed, added)
        # X may also have facts of relations that only the added rules declare.
        X, collect = self._explicit, self._engine.collect
        given = self._engine.relations(X) if self._declared else []
        new = [name for name in given if name not in book.stratum_of]
        known = X if not new else collect(X, [name for name in given if name not in new])
        signs = (self._takes, self._gives)
        phases = [self._phase(watch, known, book, removed, (), *signs)]
        if added:
            phases.append(self._phase(watch, collect(X, new), self._book, (), added, *signs))
        return phases

    def _at_once(
        self, watch: LimitWatch, removed: Sequence[Rule], added: Sequence[Rule]
    ) -> list[tuple[Saved, Saved]]:
        """One phase, or those of marking."""

        def each(
            X: FactSet, deletes: bool, inserts: bool, algorithm: Algorithm | None = None
        ) -> tuple[Saved, Saved]:
            return self._phase(watch, X, self._book, removed, added, deletes, inserts, algorithm)

        if self._marks is None:
            return [each(self._explicit, self._takes, self._gives)]
        change = (self._explicit, self._takes, self._gives)
        return self._marks.phases(self._engine, change, each, self.report)

    def _phase(
        self,
        watch: LimitWatch,
        X: FactSet,
        book: Rulebook,
        removed: Sequence[Rule],
        added: Sequence[Rule],
        deletes: bool,
        inserts: bool,
        algorithm: Algorithm | None = None,
    ) -> tuple[Saved, Saved]:
        """Follow a change of the explicit facts X, which deletes some, inserts some, or both."""
        engine, memory = self._engine, self._state.memory
        D, A = engine.none(), engine.none()
        base = (engine, engine.explicit, engine.all, watch, memory)
        u = Update(*base, X, D, A, report=self.report)
        u.only_inserts, u.only_deletes = not deletes, not inserts
        by = algorithm or self._backend.algorithm(self._options.algorithm)
        update(u, book.strata, book.stratum_of, book.readers, removed, added, by)
        self._backend.finished(u)
        return engine.save(D), engine.save(A)

    def _delta_of(self, phases: Sequence[tuple[Saved, Saved]]) -> Delta:
        """The delta of the relations that a user sees."""
        everything = self._options.everything
        visible = self._book.visible if everything else self._state.visible(self._book)
        found = self._engine.delta(phases, visible)
        names = sorted(found, key=self._book.place_of)
        return Delta({name: found[name] for name in names}, visible, self._origin())

    def _origin(self) -> Origin | None:
        """What explanations of the delta will need."""
        if self._explain is None or self._options.dry_run or self._marks is not None:
            return None  # marking uses up the set of explicit changes
        return Origin(
            self._explain,
            self._state.commits + 1,
            self._engine.save(self._explicit),
            tuple(self._added),
            tuple(self._state.book.clauses[name] for name in self._removed),
        )

    def _adopt(self) -> None:
        """Keep the changes and the rules, and release what is no longer needed."""
        old, engine = self._state.book, self._engine
        self._state.book = self._book
        engine.commit()
        self._state.commits += 1
        self._state.memory.settle(undone=False)
        kept = self._book.uses
        engine.forget(
            [rule for name in self._replaced for rule in old.rules[name] if rule not in kept]
        )
        self._close()

    def _back(self) -> None:
        """Restore the facts and the rules as they were."""
        engine = self._engine
        self._pending.clear()
        engine.rollback()
        self._state.memory.settle(undone=True)
        for name in self._declared:
            engine.undeclare(name)
        known = self._state.book.uses
        engine.forget(
            [rule for name in self._added for rule in self._book.rules[name] if rule not in known]
        )
        self._close()

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

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
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

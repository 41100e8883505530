"""`Database`: a program, its facts and all that follows from them."""

from __future__ import annotations

import html
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

from tidelog.changes.apply import apply_changes
from tidelog.changes.stream import Stream
from tidelog.control.limits import Interrupts, Limits, LimitWatch, Show, guarded
from tidelog.engine import Store
from tidelog.formats.change_files import Format
from tidelog.maintain.module import Module, chosen
from tidelog.plan.accept import Accepted, accept
from tidelog.plan.query import compile_question
from tidelog.program.changes import Change
from tidelog.program.diagnostics import TidelogError, plural
from tidelog.program.rules import Relation, Rule
from tidelog.program.table import Table, sorted_table
from tidelog.session.backends import EngineChoice
from tidelog.session.demand_queries import by_demand, can_narrow
from tidelog.session.evaluation import Evaluation, Stats
from tidelog.session.explanations import Explanations
from tidelog.session.program_and_facts import (
    declare_given,
    facts_by_relation,
    parse_program,
    tables_of_facts,
    tables_of_inputs,
)
from tidelog.session.relation_views import Answer, Latest, RelationView, Row, Snapshot
from tidelog.session.stated_facts import stated
from tidelog.text.writer import to_text
from tidelog.transaction.backend import Backend
from tidelog.transaction.core import Core, Options
from tidelog.transaction.delta import Delta
from tidelog.transaction.refusals import no_relation
from tidelog.transaction.state import State
from tidelog.transaction.transaction import Transaction, check_algorithm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Database(Explanations):
    """A program with the consequences of its facts.

    `program` is a path (a `Path`, or a string that ends in `.dl`) or the program's text.
    `facts` gives facts by relation (rows, or pandas, Polars and Arrow frames), or names the
    folder that `.input` directives read from; without it they read nothing.
    Files that it includes are looked for beside it and in the folders `include`; `macros` are
    defined for its preprocessor, and `functors` are the functions for its `.functor`.
    Closures (`tidelog plan` names them) have algorithms of their own unless `modules` is False;
    or `modules` lists the classes of modules in use (`tidelog.modules`).
    With `one_stratum`, algorithms maintain all relations together, as in papers without strata, or
    in as few strata as negation and aggregates allow; not on Spark.
    With `lazy`, nothing is derived until something but `query(…, demand=True)` asks for it;
    not on Spark.
    With `engine="spark"` facts are kept by Spark, in the session `spark` or a new local one;
    `strategy` and `driver_facts` say where the work is done, if that is not left to Tidelog.

    >>> db = Database('''
    ...     path(x, y) :- edge(x, y).
    ...     path(x, z) :- path(x, y), edge(y, z).
    ... ''', facts={"edge": [(1, 2), (2, 3)]})
    >>> sorted(db.relation("path"))
    [(1, 2), (1, 3), (2, 3)]
    >>> db.query("path(1, x)")
    [(2,), (3,)]
    """

    def __init__(
        self,
        program: str | Path,
        facts: Mapping[str, Any] | str | Path | None = None,
        *,
        algorithm: str = "auto",
        modules: bool | Sequence[type[Module]] = True,
        strict: bool = False,
        limits: Limits | None = None,
        profile: bool = False,
        progress: Show | None = None,
        allow_paths: bool = False,
        include: Sequence[str | Path] = (),
        macros: Mapping[str, object] | None = None,
        functors: Mapping[str, Callable[..., Any]] | None = None,
        engine: str = "local",
        spark: SparkSession | None = None,
        strategy: str = "auto",
        driver_facts: int | None = None,
        lazy: bool = False,
        one_stratum: bool = False,
    ) -> None:
        began = time.perf_counter()
        limits = limits or Limits()
        with guarded(LimitWatch(limits, lambda: 0).check):
            given = facts_by_relation(facts, limits.max_facts)
        parsed = parse_program(program, allow_paths, include, macros)
        accepted = accept(parsed, declare_given(parsed.program, given))
        place = EngineChoice(engine, spark, strategy, driver_facts)
        options = Options(algorithm, strict, limits=limits)
        self._begin(accepted, options, modules, place, functors, one_stratum)
        if isinstance(facts, str | Path):
            tables = tables_of_inputs(accepted, self._loaded, facts, allow_paths, limits.max_facts)
        else:
            tables = tables_of_facts(given, self._loaded.store, self._named)
        self._load(tables, profile, progress, began, lazy)

    @classmethod
    def of(
        cls,
        accepted: Accepted,
        tables: Iterable[tuple[str, Any]] | Callable[[Backend], Iterable[tuple[str, Any]]] = (),
        *,
        algorithm: str = "auto",
        modules: bool | Sequence[type[Module]] = True,
        strict: bool = False,
        limits: Limits | None = None,
        profile: bool = False,
        progress: Show | None = None,
        place: EngineChoice | None = None,
        functors: Mapping[str, Callable[..., Any]] | None = None,
        one_stratum: bool = False,
    ) -> Database:
        """A database of a program that has been read already, with tables for its relations, or
        what has the backend read them."""
        database = cls.__new__(cls)
        began = time.perf_counter()
        options = Options(algorithm, strict, limits=limits or Limits())
        place = place or EngineChoice()
        database._begin(accepted, options, modules, place, functors, one_stratum)
        found = tables(database._loaded) if callable(tables) else tables
        database._load(found, profile, progress, began)
        return database

    def _begin(
        self,
        accepted: Accepted,
        options: Options,
        modules: bool | Sequence[type[Module]],
        place: EngineChoice,
        functors: Mapping[str, Callable[..., Any]] | None,
        one_stratum: bool,
    ) -> None:
        check_algorithm(options.algorithm)
        accepted = stated(accepted)
        self._checked = accepted.checked  # the program of the start
        kinds = chosen(modules)
        self._state = State.of(accepted, kinds, functors, one_stratum)
        self._stream: weakref.ref[Stream] | None = None
        self.warnings = accepted.warnings
        backend = place.open(accepted, options.algorithm, kinds)
        self._evaluation = Evaluation(backend, self._state, options)
        store = backend.store
        if one_stratum and store.own_evaluation is not None:
            raise self._missing("one_stratum", "leave it out")
        store.call(self._state.functors.functions)
        for relation in self._checked.relations.values():
            store.declare(relation)

    def _load(
        self,
        tables: Iterable[tuple[str, Any]],
        profile: bool,
        progress: Show | None,
        began: float,
        lazy: bool = False,
    ) -> None:
        evaluation, backend = self._evaluation, self._loaded
        store, limits = backend.store, evaluation.options.limits
        evaluation.profile, evaluation.progress = profile, progress
        with backend.errors():
            for name, rows in self._checked.facts.items():
                table = Table.from_rows(self._checked.relations[name].kinds, rows)
                store.load(name, table, (store.explicit, store.all))
            reading = backend.load(tables, limits)
            self.stats.load_seconds = time.perf_counter() - began
            evaluation.pending = lazy and store.scratch is not None
            if not evaluation.pending:
                evaluation.run(reading)

    @property
    def stats(self) -> Stats:
        """What the evaluation did and took."""
        return self._evaluation.stats

    @property
    def core(self) -> Core:
        """What other parts of Tidelog use of the database; internal, see `Core`."""
        return self._evaluation

    @property
    def _loaded(self) -> Backend:
        return self._evaluation.loaded

    @property
    def _engine(self) -> Store:
        return self._evaluation.store

    # Reading.

    @property
    def relations(self) -> tuple[str, ...]:
        """Names of the program's relations, in the order of their strata."""
        return tuple(self._state.book.visible)

    @property
    def schema(self) -> Mapping[str, Relation]:
        """The relations by name, with their attributes and kinds."""
        return self._state.book.visible

    @property
    def rules(self) -> dict[str, str]:
        """The rules' texts by their names, which stay the same while other rules change.

        >>> Database("p(x) :- q(x). q(1).").rules
        {'p.b4ee7c838190bac2': 'p(x) :- q(x).'}
        """
        return {name: to_text(clause) for name, clause in self._state.book.clauses.items()}

    def relation(self, name: str) -> RelationView:
        """The facts of one relation, to iterate over or to take as a frame."""
        return RelationView(self, self._named(name))

    __getitem__ = relation

    def size(self, name: str) -> int:
        """How many facts a relation has.

        >>> Database("p(1). p(2). q(x) :- p(x), x > 1.").size("q")
        1
        """
        with self._state.lock, self._loaded.errors():
            return self._engine.size(self._named(name).name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.relations)

    def __len__(self) -> int:
        return len(self.relations)

    def __contains__(self, name: object) -> bool:
        return name in self.relations

    def table(self, name: str) -> Table:
        """A relation's facts as sorted columns."""
        with self._state.lock, self._loaded.errors():
            found = self._engine.table(self._named(name).name)
        return sorted_table(found)

    def _frame(self, name: str) -> Any:
        """The facts as they are: of Spark a frame, otherwise a table."""
        with self._state.lock:
            return self._engine.native(name)

    def _holds(self, relation: Relation, row: Row) -> bool:
        with self._state.lock:
            return self._engine.holds(relation, row)

    def query(self, question: str, *, demand: bool = False) -> Answer:
        """The values of a question's variables, in the order in which they occur.

        A question is a rule body: an atom, or atoms, negations and comparisons with commas.
        With `demand` it is answered from the explicit facts: what follows from them is derived
        as far as the question needs it, and forgotten again. A `lazy` database derives nothing
        else for it.

        >>> db = Database("age('ann', 31). age('bob', 12).".replace("'", '"'))
        >>> db.query("age(who, years), years >= 18")
        [('ann', 31)]
        >>> db.query('age("bob", 12)')
        [()]
        >>> db = Database("p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).",
        ...               facts={"e": [(1, 2), (2, 3), (8, 9)]}, lazy=True)
        >>> db.query("p(1, x)", demand=True)
        [(2,), (3,)]
        """
        asked = compile_question(question, self._state.book.program)
        self._state.functors.use(rule for stratum in asked.strata for rule in stratum.rules)
        if asked.holds:
            return Answer(asked.columns, [()])
        scratch = self._loaded.store.scratch
        if demand and scratch is None:
            raise self._missing("query by demand", "ask without demand=True")
        with self._state.lock, self._loaded.errors(), Interrupts() as interrupts:
            strata = (*self._state.book.strata, *asked.strata)
            limits = self._state.memory.limits
            if not demand or not can_narrow(strata, [asked.relation.name], limits):
                scratch = None
            engine = self._engine if scratch is None else self._loaded.store
            watch = LimitWatch(self._evaluation.options.limits, engine.facts, None, interrupts)
            engine.watch(watch.tick)
            try:
                if scratch is not None:
                    answer = by_demand(engine, scratch, self._state.book, asked, watch)
                else:
                    answer = engine.ask(asked.strata, asked.relation, asked.parts)
                watch.tick(None)
            finally:
                engine.watch(None)
        return Answer(asked.columns, sorted_table(answer).rows())

    def functor(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        vectorised: bool | None = None,
        pure: bool | None = None,
        safe: bool | None = None,
    ) -> None:
        """Give a functor that the program declares its function, for rules and questions to come;
        those of the program's own rules are given with the program. See `tidelog.functor`.

        >>> db = Database(".functor twice(x: number): number p(1). p(2).")
        >>> db.functor("twice", lambda x: 2 * x)
        >>> db.query("p(x), y = @twice(x)")
        [(1, 2), (2, 4)]
        """
        self._state.functors.bind(name, function, vectorised=vectorised, pure=pure, safe=safe)

    def join_order(self, rule: Rule) -> str:
        """How the engine would join the body of a rule of the program, for sizes as they are."""
        orders = self._engine.join_orders
        if orders is None:
            raise self._missing("join order", "it plans each join itself")
        return orders.join_order(rule)

    def _missing(self, ability: str, advice: str) -> TidelogError:
        """The error for what the engine cannot do."""
        return TidelogError(
            f"error: {ability} is not available on {self._loaded.name}\n    {advice}"
        )

    def _named(self, name: str) -> Relation:
        relation = self._state.book.relations.get(name)
        if relation is None or relation.hidden:
            raise no_relation(name, self.relations)
        return relation

    # Changing.

    def transaction(
        self,
        *,
        algorithm: str | None = None,
        strict: bool | None = None,
        dry_run: bool = False,
        limits: Limits | None = None,
        progress: Show | None = None,
    ) -> Transaction:
        """Begin to change facts and rules; see `Transaction`.

        `algorithm` is the maintenance algorithm, such as "dred"; all give the same result, and
        "auto" chooses one.
        `strict` makes changes that change nothing an error, such as deleting a fact that is not
        there. With `dry_run` the commit tells what would change, and changes nothing.

        >>> db = Database("big(x) :- size(x, n), n > 10.", facts={"size": [("a", 12)]})
        >>> with db.transaction() as tx:
        ...     tx.insert("size", [("b", 20)])
        >>> list(db.relation("big"))
        [('a',), ('b',)]
        """
        stream = self._open_stream()
        if stream is not None and stream.under_way:
            numbers = ", ".join(map(str, stream.under_way))
            raise TidelogError(
                f"error: updates of a stream are under way: {numbers}\n"
                "    go on with the stream, take a snapshot, or close it first"
            )
        with nullcontext() if stream is None else stream.drained():
            options = self._with(algorithm, strict, dry_run, limits, progress)
            return Transaction(self.core, options)

    def _with(
        self,
        algorithm: str | None,
        strict: bool | None,
        dry_run: bool,
        limits: Limits | None,
        progress: Show | None,
    ) -> Options:
        """Options of a transaction or stream; those left out are the database's."""
        own = self._evaluation.options
        algorithm = own.algorithm if algorithm is None else algorithm
        strict = own.strict if strict is None else strict
        return Options(algorithm, strict, dry_run, limits or own.limits, progress)

    def apply(self, changes: str | Iterable[Change]) -> list[Delta]:
        """Apply changes, given as text in the change notation or as values; one delta a commit.

        Where one of them is at fault, the commits before it stay.

        >>> db = Database("p(x) :- q(x). q(1).")
        >>> for delta in db.apply("+q(2). commit. -q(1). +q(3). commit."):
        ...     print(delta.counts)
        {'q': (1, 0), 'p': (1, 0)}
        {'q': (1, 1), 'p': (1, 1)}
        """
        if not isinstance(changes, Iterable):
            raise TidelogError(f"error: expected changes, as text or as values, got {changes!r}")
        return [done.delta for done in apply_changes(changes, self)]

    # Streams.

    def stream(
        self,
        source: Any,
        policy: str = "sequential",
        *,
        algorithm: str | None = None,
        strict: bool | None = None,
        dry_run: bool = False,
        format: Format | None = None,
        limits: Limits | None = None,
        progress: Show | None = None,
        **unknown: Never,
    ) -> Stream:
        """Apply updates as they arrive; iterating the stream gives each when it is finished.

        `source` is text in the change notation, a `Path` or a list of them, a binary stream, a
        connected socket or `tcp://HOST:PORT`, a queue (None ends it), or an iterable of updates:
        lists of changes, texts, or changes with `Commit`. It may be slow or endless.
        `policy` is sequential, marking or fully-dynamic; the result is the same. `format` is that
        of a path, a binary stream or a connection: changes, jsonl, csv or parquet.

        >>> db = Database("p(x) :- q(x). q(1).")
        >>> for done in db.stream(["+q(2).", "-q(1). -q(2)."]):
        ...     print(done.number, done.delta.counts)
        1 {'q': (1, 0), 'p': (1, 0)}
        2 {'q': (0, 2), 'p': (0, 2)}
        """
        for name in unknown:
            known = "policy, algorithm, strict, dry_run, format, limits and progress"
            raise TypeError(f"Database.stream() has no option {name!r}; its options are {known}")
        if self._loaded.store.overlapping is None and policy != "sequential":
            raise TidelogError(
                f"error: the policy {policy!r} is not available on {self._loaded.name}\n"
                "    use sequential"
            )
        if self._open_stream() is not None:
            raise TidelogError("error: a stream is open\n    read it to its end, or close it first")
        options = self._with(algorithm, strict, dry_run, limits, progress)
        made = Stream(self.core, source, policy, options, format)
        self._stream = weakref.ref(made)
        return made

    def _open_stream(self) -> Stream | None:
        stream = self._stream() if self._stream is not None else None
        return None if stream is None or stream.closed else stream

    def snapshot(self) -> Snapshot:
        """What a whole prefix of the stream leads to; the stream stands still until it is closed.

        Updates that are under way are finished first. It may be taken in any thread.

        >>> db = Database("p(x) :- q(x). q(1).")
        >>> stream = db.stream("+q(2). commit. +q(3). commit.")
        >>> first = next(stream)
        >>> with db.snapshot() as snapshot:
        ...     print(snapshot.updates, snapshot.size("p"))
        1 2
        """
        return Snapshot(self, self._state, self._open_stream)

    def latest(self) -> Latest:
        """What is there now; `settled` is False while updates are under way.

        >>> db = Database("p(x) :- q(x). q(1).")
        >>> latest = db.latest()
        >>> latest.size("p"), latest.settled
        (1, True)
        """
        return Latest(self, self._state, self._open_stream)

    # Notebooks and prompts.

    def __repr__(self) -> str:
        facts = sum(map(self.size, self.relations))
        return f"<Database: {plural(len(self), 'relation')}, {plural(facts, 'fact')}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td style='text-align:right'>{self.size(name):,}</td>"
            "</tr>"
            for name in self.relations
        )
        return f"<table><tr><th>relation</th><th>facts</th></tr>{rows}</table>"

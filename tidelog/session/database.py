"""`Database`: a program, its facts and all that follows from them."""

from __future__ import annotations

import html
import re
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

from tidelog.changes.apply import apply_changes
from tidelog.changes.stream import Stream
from tidelog.control.limits import Interrupts, Limits, Show, Watch, guarded
from tidelog.engine import Measure, Store
from tidelog.formats.change_files import Format
from tidelog.formats.directives import inputs
from tidelog.formats.frames import is_stream, kinds_of, listed, to_table
from tidelog.formats.row_order import sorted_table
from tidelog.maintain.memory import Memory
from tidelog.plan.accept import Accepted, accept
from tidelog.plan.query import compile_question
from tidelog.plan.rulebook import Rulebook
from tidelog.program.changes import Change
from tidelog.program.diagnostics import DataError, TidelogError, during, plural
from tidelog.program.rules import Relation, Rule
from tidelog.program.syntax import Attribute, Program, RelationDecl
from tidelog.program.table import Table
from tidelog.session.backends import Place
from tidelog.session.demand import by_demand, can_narrow
from tidelog.session.stated_facts import stated
from tidelog.session.views import Answer, Latest, RelationView, Row, Snapshot
from tidelog.text import Parsed, parse, parse_file
from tidelog.text.writer import to_text
from tidelog.transaction.backend import Backend
from tidelog.transaction.delta import Delta
from tidelog.transaction.refusals import ends_early
from tidelog.transaction.state import State
from tidelog.transaction.transaction import Transaction, check_algorithm
from tidelog.transaction.user_functors import Functors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.report.profile import RuleRound

_NAME = re.compile(r"[A-Za-z_?][A-Za-z0-9_?]*(?:\.[A-Za-z_?][A-Za-z0-9_?]*)*")


@dataclass(slots=True)
class Stats:
    """What an evaluation did and took."""

    load_seconds: float = 0.0
    evaluate_seconds: float = 0.0
    instances: int = 0
    rounds: int = 0
    facts: int = 0
    profile: list[RuleRound] = field(default_factory=list)


class Database:
    """A program with the consequences of its facts.

    `program` is a path (a `Path`, or a string that ends in `.dl`) or the program's text.
    `facts` gives facts by relation (rows, or pandas, Polars and Arrow frames), or names the
    folder that `.input` directives read from; without it they read nothing.
    Files that it includes are looked for beside it and in the folders `include`; `macros` are
    defined for its preprocessor, and `functors` are the functions for its `.functor`.
    Closures (`tidelog plan` names them) have algorithms of their own unless `modules` is False.
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
        modules: bool = True,
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
    ) -> None:
        began = time.perf_counter()
        limits = limits or Limits()
        with guarded(Watch(limits, lambda: 0).check):
            given = _given(facts, limits.max_facts)
        parsed = _parse(program, allow_paths, include, macros)
        accepted = accept(parsed, _declare_given(parsed.program, given))
        place = Place(engine, spark, strategy, driver_facts)
        self._begin(accepted, began, algorithm, modules, strict, place, functors)
        tables = self._tables(facts, given, allow_paths, limits.max_facts)
        self._finish(tables, limits, profile, progress, lazy)

    @classmethod
    def of(
        cls,
        accepted: Accepted,
        tables: Iterable[tuple[str, Any]] | Callable[[Backend], Iterable[tuple[str, Any]]] = (),
        *,
        algorithm: str = "auto",
        modules: bool = True,
        strict: bool = False,
        limits: Limits | None = None,
        profile: bool = False,
        progress: Show | None = None,
        place: Place | None = None,
        functors: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Database:
        """A database of a program that has been read already, with tables for its relations, or
        what has the backend read them."""
        database = cls.__new__(cls)
        began = time.perf_counter()
        place = place or Place()
        database._begin(accepted, began, algorithm, modules, strict, place, functors)
        found = tables(database._loaded) if callable(tables) else tables
        database._finish(found, limits, profile, progress)
        return database

    def _begin(
        self,
        accepted: Accepted,
        began: float,
        algorithm: str,
        modules: bool,
        strict: bool,
        place: Place,
        functors: Mapping[str, Callable[..., Any]] | None,
    ) -> None:
        check_algorithm(algorithm)
        accepted = stated(accepted)
        self._began = began
        self._sources = accepted.sources
        self._checked = accepted.checked  # the program of the start
        book = Rulebook.of(accepted.typed, accepted.checked)
        limits = accepted.checked.limits
        thinned = {name for each in book.strata if each.thinned for name in each.relations}
        if thinned & limits.keys():
            told = ends_early(sorted(thinned & limits.keys()))
            raise TidelogError(f"error: {told} but what subsumes or chooses there must see all")
        self._state = State(book, Memory(modules=modules, limits=limits))
        self._state.functors = Functors(
            accepted.typed.functors, functors, accepted.checked.numbered
        )
        self._state.functors.use(accepted.checked.rules, accepted.sources)
        self._algorithm = algorithm
        self._strict = strict
        self._stream: weakref.ref[Stream] | None = None
        self.warnings = accepted.warnings
        self.stats = Stats()
        self._loaded = place.open(accepted, algorithm, modules)  # all of it, if that is derived
        self._derive: Callable[[], None] | None = None  # what a lazy database has not done yet
        store = self._loaded.store
        store.call(self._state.functors.functions)
        for relation in self._checked.relations.values():
            store.declare(relation)

    def _finish(
        self,
        tables: Iterable[tuple[str, Any]],
        limits: Limits | None,
        profile: bool,
        progress: Show | None,
        lazy: bool = False,
    ) -> None:
        written = (
            (name, Table.from_rows(self._checked.relations[name].kinds, rows))
            for name, rows in self._checked.facts.items()
        )
        self._limits = limits or Limits()
        backend, store = self._loaded, self._loaded.store
        with backend.errors():
            for name, table in written:
                store.load(name, table, (store.explicit, store.all))
            reading = backend.load(tables, self._limits)
            self.stats.load_seconds = time.perf_counter() - self._began
            if lazy and store.scratch is not None:
                self._derive = lambda: self._evaluate(self._limits, profile, progress)
            else:
                self._evaluate(self._limits, profile, progress, reading)

    @property
    def _engine(self) -> Store:
        return self._backend.store

    @property
    def _backend(self) -> Backend:
        """What has the facts, with all that follows from them."""
        if self._derive is not None:
            with self._state.lock:
                if self._derive is not None:
                    self._try_to_derive(self._derive)
        return self._loaded

    def _try_to_derive(self, derive: Callable[[], None]) -> None:
        """Derive what a lazy database has not; after an error it is as before."""
        store = self._loaded.store
        try:
            with nullcontext() if store.scratch is None else store.scratch.scope():
                derive()
            self._derive = None
        except BaseException:
            strata = [stratum for stratum in self._state.book.strata if not stratum.given]
            store.take([name for stratum in strata for name in stratum.relations])
            raise

    def _tables(
        self,
        facts: Mapping[str, Any] | str | Path | None,
        given: Mapping[str, Any],
        paths: bool,
        max_facts: int | None,
    ) -> Iterator[tuple[str, Any]]:
        backend, sources = self._loaded, self._sources
        if isinstance(facts, str | Path):
            own = backend.own_formats
            asked = inputs(self._checked, facts, allow_paths=paths, sources=sources, spark=own)
            yield from backend.read_inputs(asked, sources=sources, max_facts=max_facts)
        for name, data in given.items():
            if backend.store.reads(data):
                self._named(name)
                yield name, data
            else:
                with during(f"the facts of `{name}` were read"):
                    table = to_table(self._named(name), data)
                yield name, table

    def _evaluate(
        self, limits: Limits, profile: bool, progress: Show | None, reading: float = 0.0
    ) -> None:
        """Derive all that follows; `reading` seconds count towards the limit on time."""
        engine, stats = self._loaded.store, self.stats
        began = time.perf_counter()
        self._loaded.warm()
        with Interrupts() as interrupts:
            watch = Watch(limits, engine.facts, progress, interrupts)
            watch.began -= reading
            engine.watch(watch.tick)
            profiles = engine.profiles if profile else None
            if profiles is not None:
                profiles.profile(_recorder(stats, watch, self._state.book.stratum_of))
            with interrupts.explaining():
                self._loaded.materialise(self._state.book.strata, watch, self._state.memory)
            watch.tick(None)
        engine.watch(None)
        if profiles is not None:
            profiles.profile(None)
        stats.evaluate_seconds = time.perf_counter() - began
        stats.instances = engine.instances
        stats.rounds = watch.rounds
        stats.facts = len(engine.all)

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
        {'p.671565': 'p(x) :- q(x).'}
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
            watch = Watch(self._limits, engine.facts, None, interrupts)
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
        return TidelogError(f"error: on {self._loaded.name} there is no {ability}\n    {advice}")

    def _named(self, name: str) -> Relation:
        relation = self._state.book.relations.get(name)
        if relation is None or relation.hidden:
            known = ", ".join(self.relations) or "none"
            raise TidelogError(f"there is no relation {name}; the program has {known}")
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
            return self._transaction(
                algorithm=algorithm,
                strict=strict,
                dry_run=dry_run,
                limits=limits,
                progress=progress,
            )

    def _transaction(
        self,
        *,
        algorithm: str | None = None,
        strict: bool | None = None,
        dry_run: bool = False,
        limits: Limits | None = None,
        progress: Show | None = None,
    ) -> Transaction:
        return Transaction(
            self._backend,
            self._state,
            algorithm=self._algorithm if algorithm is None else algorithm,
            strict=self._strict if strict is None else strict,
            dry_run=dry_run,
            limits=limits or self._limits,
            progress=progress,
        )

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
            options = "policy, algorithm, strict, dry_run, format, limits and progress"
            raise TypeError(f"Database.stream() has no option {name!r}; its options are {options}")
        if self._loaded.store.overlapping is None and policy != "sequential":
            raise TidelogError(
                f"error: the policy {policy!r} is not available on {self._loaded.name}\n"
                "    use sequential"
            )
        if self._open_stream() is not None:
            raise TidelogError("error: a stream is open\n    read it to its end, or close it first")
        made = Stream(
            self,
            source,
            policy,
            algorithm=algorithm,
            strict=self._strict if strict is None else strict,
            dry_run=dry_run,
            format=format,
            limits=limits,
            progress=progress,
        )
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


def _given(facts: Mapping[str, Any] | str | Path | None, max_facts: int | None) -> dict[str, Any]:
    """Facts by relation. Iterators become lists, because they are looked at twice."""
    if facts is None or isinstance(facts, str | Path):
        return {}
    if not isinstance(facts, Mapping):
        raise TidelogError(
            f"error: facts are given by relation, or as a folder; {facts!r} is neither"
        )
    for name in facts:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise TidelogError(f"error: {name!r} cannot be the name of a relation")
    return {name: _listed(name, d, max_facts) if is_stream(d) else d for name, d in facts.items()}


def _listed(name: str, rows: Iterable[Any], max_facts: int | None) -> list[Any]:
    with during(f"the facts of `{name}` were read"):
        return listed(rows, max_facts)


def _declare_given(program: Program, given: Mapping[str, Any]) -> Program:
    """Declare relations that come with facts and that the program does not declare."""
    declared = {decl.name for decl in program.relations}
    defined = {head.relation for clause in program.clauses for head in clause.heads}
    defined |= {fact.relation for fact in program.facts}
    made = []
    for name, data in given.items():
        if name in declared:
            continue
        kinds = kinds_of(data)
        if kinds is None and name not in defined:
            raise DataError(
                f"error: {name}: its facts do not show the types of its columns\n"
                f"    declare it in the program: .decl {name}(…)"
            )
        if kinds is not None:
            attributes = tuple(Attribute(f"x{i}", kind) for i, kind in enumerate(kinds))
            made.append(RelationDecl(name, attributes))
    return replace(program, relations=(*program.relations, *made)) if made else program


def _recorder(
    stats: Stats, watch: Watch, stratum_of: Mapping[str, int]
) -> Callable[[Measure], None]:
    """Notes what each rule did, under the stratum and round in which it did it."""
    from tidelog.report.profile import RuleRound

    def record(found: Measure) -> None:
        rule = found.rule
        stats.profile.append(
            RuleRound(
                stratum=stratum_of[rule.head.relation] + 1,  # as `tidelog plan` has it
                round=watch.in_round,
                rule=rule.text,
                at=f"{rule.at.file}:{rule.at.line}" if rule.at.line else "",
                relation=rule.head.relation,
                seconds=found.seconds,
                instances=found.instances,
                facts=found.facts,
            )
        )

    return record


def _parse(
    program: str | Path,
    allow_paths: bool,
    include: Sequence[str | Path],
    macros: Mapping[str, object] | None,
) -> Parsed:
    if not isinstance(program, str | Path):
        raise TidelogError(f"error: a program is a path or text; {program!r} is neither")
    for name in macros or ():
        if not isinstance(name, str) or not (name.isascii() and name.isidentifier()):
            raise TidelogError(f"error: {name!r} is no macro\n    a macro's name is like LIMIT")
    if isinstance(program, Path) or (program.endswith(".dl") and "\n" not in program):
        path = Path(program)
        return parse_file(path, allow_paths=allow_paths, include=include, macros=macros)
    return parse(program, allow_paths=allow_paths, include=include, macros=macros)

"""The local engine: the engine interface over Numba kernels, in one process."""

from __future__ import annotations

import time
import weakref
from bisect import insort
from collections import Counter as Counted
from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import neg
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import (
    Combination,
    Counter,
    FactAges,
    FactSet,
    Ids,
    JoinOrders,
    Measure,
    OverlapStore,
    Profiles,
    RelationDelta,
    Rounds,
    Scratch,
    Split,
    Taken,
    View,
)
from tidelog.local.dictionary import ABSENT, Dictionary, fits
from tidelog.local.executor import Alone, Budget, Reading, Runner, Views
from tidelog.local.join_order import Catalog, Mode
from tidelog.local.net_changes import net
from tidelog.local.plan_cache import Ask, Batch, Choice, PlanBook
from tidelog.local.plan_steps import Plan, Request
from tidelog.local.sets import Journal, LocalSet, Rows, Saved, bound, lacks, sets_of
from tidelog.local.store import LAST_AGE, Store
from tidelog.program.changes import Op
from tidelog.program.diagnostics import TidelogError
from tidelog.program.functors import Functor
from tidelog.program.rules import Relation, Rule, Stratum
from tidelog.program.syntax import Kind, Value
from tidelog.program.table import Column, Table

BITS = 16  # of a row's mask: so many sets are not spilled
ROOM = 8  # sets that one evaluation reads: views over more sets are made sets first
FEW_ROWS = 1 << 12  # of which masks are at hand: whether a row is odd need not be known
FEW_INSTANCES = 1 << 12  # of an update for which finding odd rows does not pay
SMALL_ROUND = 1 << 12  # facts; the kernel goes on by itself after such a round
MOST_ALONE = 1 << 17  # facts, of all rounds that it runs by itself
MOST_PLANS = 256  # that are all looked at in each of these rounds

DTYPES = {"number": np.int64, "unsigned": np.uint64, "float": np.float64}


@dataclass(frozen=True, slots=True)
class LocalCounter(Counter):
    which: int


@dataclass(slots=True)
class LocalTaken(Taken):
    """Rows of relations, by number."""

    rows: dict[int, NDArray[np.uint32]]


@dataclass(slots=True)
class Work:
    instances: int = 0
    evaluations: int = 0


class LocalEngine:
    """Relations by name, sets as bits, rules through the join kernel."""

    def __init__(self) -> None:
        self.store = Store()
        self.dictionary = Dictionary()
        self.counters = Work()
        self.measure: Callable[[Measure], None] | None = None  # where given, rules run one by one
        self.numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._aside: list[int] = []  # relations that algorithms keep for a moment
        self._retired: dict[tuple[str, int], int] = {}
        self.nonrecursive, self.recursive = LocalCounter(0), LocalCounter(1)
        self.kinds: dict[str, Relation] = {}
        self._begun = np.empty(0, dtype=np.int64)
        self._restated: list[tuple[Op, int, Ids]] = []  # by the update: explicit facts, in order
        self._small_until = 0
        self._thinned: set[int] = set()  # relations whose explicit facts need not hold
        self._renumbered: set[int] = set()  # relations whose rows an update has put in again
        self._left: list[tuple[int, NDArray[np.uint32]]] = []  # facts that an update took out
        self._going: list[tuple[int, NDArray[np.uint32]]] = []  # rows to be taken away, as facts
        self._not_yet: list[tuple[int, NDArray[np.uint32]]] = []  # that `as_before` leaves out
        self._free_bits = [1 << i for i in range(BITS - 1, -1, -1)]
        self.explicit = LocalSet(self, self._free_bits.pop(), whole=True)
        self.all = LocalSet(self, self._free_bits.pop(), whole=True)
        self.all.dated = True
        # By bit: a finalizer of its own for each, as a WeakSet has one, would cost small updates.
        self._held: dict[int, weakref.ref[LocalSet]] = {}
        self._spilled: dict[int, weakref.ref[LocalSet]] = {}  # sets without a bit, by id
        self._spills = 0  # so far: as long as there are no more, sets keep their bits
        self._runner = Runner(
            self.store, self.dictionary, self.all, self.explicit, self.numbers.get
        )
        self._book = PlanBook(
            Catalog(
                relation=self.relation,
                arity=self.store.arity,
                size=self.store.size,
                sizes=self.store.sizes,
                fanout=self.store.fanout,
                index=self.store.index,
                identify=self.dictionary.id,
                word=self.dictionary.word,
                way=self.dictionary.terms.way,
            ),
            self._runner.answers,
        )

    @property
    def instances(self) -> int:
        return self.counters.instances

    @property
    def lasting(self) -> float:
        return self.store.lasting

    def watch(self, tick: Callable[[Rule | None], None] | None) -> None:
        """Have `tick` called while work goes on; it may raise to stop it."""
        self._runner.tick = tick or (lambda rule: None)

    # Relations and facts.

    def declare(self, relation: Relation, aside: bool = False) -> int:
        self.kinds[relation.name] = relation
        number = self.relation(relation.name, relation.arity)
        if relation.thinned:
            self._thinned.add(number)
        if aside and number not in self._aside:
            self._aside.append(number)
        return number

    def relation(self, name: str, arity: int) -> int:
        number = self.numbers.get(name)
        if number is None:
            number = self._retired.pop((name, arity), None)
            if number is None:
                number = self.store.add(arity)
                self._names.append(name)
            self.numbers[name] = number
            self._runner.renumber()
        return number

    def reads(self, data: object) -> bool:
        return False

    def load(self, name: str, data: Table, into: Sequence[FactSet]) -> None:
        """Add a table's rows to these sets."""
        r = self.numbers[name]
        before = self.store.size(r)
        numbers = self.store.load(r, self._encode(data), 0)
        fresh = slice(before, self.store.size(r))
        known = np.unique(numbers[numbers < before]).astype(np.uint32)
        for target in map(_local, into):
            target.add(r, fresh)
            target.add(r, known)

    def _encode(self, table: Table) -> NDArray[np.uint32]:
        rows = min(1, table.size) if not table.columns else table.size
        data = np.empty((rows, len(table.columns)), dtype=np.uint32)
        for c, (kind, column) in enumerate(zip(table.kinds, table.columns, strict=True)):
            data[:, c] = self.dictionary.encode(kind, column)
        return data

    def table(self, name: str, facts: View | Rows | None = None) -> Table:
        """A relation's facts in the materialisation, in a view, or in the given rows."""
        r = self.numbers[name]
        data = self.store.rows(r)
        if facts is None:
            if self.all.count(r) < len(data):
                data = data[self.all.rows(r)]
        elif isinstance(facts, View):
            data = self.ids(facts, name)
        else:
            data = data[facts]
        return self.decoded(self.kinds[name], data)

    def native(self, name: str) -> Table:
        return self.table(name)

    def size(self, name: str) -> int:
        return self.all.count(self.numbers[name])

    def facts(self) -> int:
        """Rows held, of all relations but those that string functors and algorithms keep."""
        sizes = self.store.sizes()
        return int(sizes.sum() - sizes[self._book.functors].sum() - sizes[self._aside].sum())

    def memory(self) -> int:
        return self.store.memory() + self.dictionary.memory()

    # Sets.

    def none(self) -> LocalSet:
        made = LocalSet(self, 0)
        self.place(made)
        return made

    def place(self, made: LocalSet, keep: Sequence[LocalSet] = ()) -> int:
        """Give a set a bit. If there is none left, the smallest other set is spilled, but none of
        those to keep."""
        if not self._free_bits:
            kept = set(map(id, keep))
            smallest = min((each for each in self._sets() if id(each) not in kept), key=len)
            bit = smallest.bit
            smallest.spill()
            self._spilled[id(smallest)] = self._held.pop(bit)
            self._free_bits.append(bit)
            self._spills += 1
        bit = made.bit = self._free_bits.pop()
        self._held[bit] = weakref.ref(made)
        if self._spilled and self._spilled.pop(id(made), None) is not None:
            made.restore()
        return bit

    def release(self, made: LocalSet, bit: int) -> None:
        """A set is empty and needs no bit any more."""
        if not bit:
            self._spilled.pop(id(made), None)
            return
        del self._held[bit]
        # In order, so that the same work has the same bits each time: tables are made for bits.
        insort(self._free_bits, bit, key=neg)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Release the sets made in the block at its end, even if a traceback refers to them."""
        before = self._sets() + self._without_bits()
        known = set(map(id, before))
        try:
            yield
        finally:
            for made in self._sets() + self._without_bits():
                if id(made) not in known:
                    made.release()

    def _sets(self) -> list[LocalSet]:
        """Those that come and go, and have a bit."""
        return [made for ref in self._held.values() if (made := ref()) is not None]

    def _without_bits(self) -> list[LocalSet]:
        """Those that are spilled."""
        return [made for ref in self._spilled.values() if (made := ref()) is not None]

    def settle(self, facts: FactSet) -> FactSet:
        return facts

    def members(
        self, view: View, only: Container[int] | None = None
    ) -> Iterator[tuple[int, slice | Rows]]:
        """The rows of a view, by relation; of these relations only, if given."""
        if isinstance(view, LocalSet):
            for r in view.relations():
                if only is None or r in only:
                    yield r, view.span(r) or view.rows(r)
            return
        sets = bound(view)
        if sets is None:
            raise ValueError("this view has no bounds: it cannot be listed")
        if self._spilled:
            # All rows are looked up at once: whoever is given some may have sets spilled.
            view = self._placed(view)
            yield from list(self._selected(view, bound(view) or sets, only))
        else:
            yield from self._selected(view, sets, only)

    def _selected(
        self, view: View, sets: list[LocalSet], only: Container[int] | None
    ) -> Iterator[tuple[int, Rows]]:
        """The rows of these sets that are in the view."""
        table = self._runner.table(view).holds
        for r in sorted({r for s in sets for r in s.relations()}):
            if (only is not None and r not in only) or lacks(view, r):
                continue
            mine = [s.rows(r) for s in sets if s.count(r)]
            rows = mine[0] if len(mine) == 1 else np.unique(np.concatenate(mine))
            rows = self.store.select(r, rows, table)
            if len(rows):
                yield r, rows

    def _placed(self, view: View) -> View:
        """The view over sets that all have bits, where some sets are spilled."""
        if len(sets_of(view)) > ROOM:
            view = self._one(view)
        self._place_all(sets_of(view))
        return view

    def _place_all(self, sets: Sequence[LocalSet]) -> None:
        for facts in sets:
            if not facts.bit:
                self.place(facts, sets)

    def _one(self, view: View) -> View:
        """The view as a set of its own, or the complement of one."""
        if isinstance(view, LocalSet):
            return view
        assert isinstance(view, Combination)
        if view.op == "not":
            inner = self._one(view.left)
            return inner.left if isinstance(inner, Combination) else ~inner
        if view.op == "or":
            return self._one(~(~view.left & ~view.right))
        left, right = self._one(view.left), self._one(view.right)
        if isinstance(left, Combination):
            if isinstance(right, Combination):
                return ~self.collect(left.left | right.left)
            return self.collect(right - left.left)
        return self.collect(left & right)

    def _ready(self, reading: Reading, result: LocalSet) -> Reading:
        """What an evaluation reads, over sets that all have bits, where some sets are spilled."""
        within, guard, negative = reading.within, reading.guard, reading.negative
        if len(sets_of(within, guard, negative)) > ROOM:
            if isinstance(within, Split):
                inside, outside = self._one(within.inside), self._one(within.outside)
                within = Split(within.relations, inside, outside)
            else:
                within = self._one(within)
            guard = None if guard is None else self._one(guard)
            negative = None if negative is None else self._one(negative)
            reading = reading._replace(within=within, guard=guard, negative=negative)
        touching = reading.touching, reading.touching_negated
        self._place_all([result, *sets_of(within, guard, negative, *touching)])
        return reading

    def collect(self, view: View, relations: Sequence[str] | None = None) -> LocalSet:
        found = self.none()
        only = None if relations is None else {self.numbers[name] for name in relations}
        for r, rows in self.members(view, only):
            found.add(r, rows)
        return found

    def some(self, view: View, count: int) -> LocalSet:
        found = self.none()
        for r, rows in self.members(view):
            if len(found) == count:
                break
            wanted = count - len(found)
            if isinstance(rows, slice):
                rows = slice(rows.start, min(rows.stop, rows.start + wanted))
            found.add(r, rows if isinstance(rows, slice) else rows[:wanted])
        return found

    def sample(self, view: View, relation: str, count: int) -> LocalSet:
        found, r = self.none(), self.numbers[relation]
        size = self.store.size(r)
        rows = np.arange(0, size, max(1, -(-size // count)), dtype=np.uint32)
        if self._spilled:
            view = self._placed(view)
        found.add(r, self.store.select(r, rows, self._runner.table(view).holds))
        return found

    def cut(self, facts: FactSet, count: int, relations: Sequence[str]) -> LocalSet:
        found, mine = self.none(), _local(facts)
        for name in relations:
            r = self.numbers[name]
            while mine.count(r) and len(found) < count:
                found.add(r, mine.pop(r, count - len(found)))
        return found

    def relations(self, facts: FactSet) -> list[str]:
        """Relations that the set has facts of."""
        return [self._names[r] for r in _local(facts).relations()]

    # The four evaluators.

    def derive(
        self,
        rules: Sequence[Rule],
        *,
        touching: FactSet,
        within: View,
        guard: View | None = None,
        negative: View | None = None,
        touching_negated: FactSet | None = None,
        add_to: Counter | None = None,
        take_from: Counter | None = None,
    ) -> LocalSet:
        lost = None if touching_negated is None else _local(touching_negated)
        counter, sign = _change(add_to, take_from)
        reading = Reading(within, guard, negative, _local(touching), lost, counter, sign)
        return self._evaluate(rules, "delta" if lost is None else "change", reading)

    def apply(
        self,
        rules: Sequence[Rule],
        *,
        within: View,
        guard: View | None = None,
        negative: View | None = None,
        add_to: Counter | None = None,
        take_from: Counter | None = None,
    ) -> LocalSet:
        counter, sign = _change(add_to, take_from)
        reading = Reading(within, guard, negative, counter=counter, sign=sign)
        return self._evaluate(rules, "apply", reading)

    def spread(
        self,
        rules: Sequence[Rule],
        N: FactSet,
        into: Sequence[FactSet],
        *,
        within: View,
        guard: View,
        negative: View | None = None,
        add_to: Counter | None = None,
        take_from: Counter | None = None,
        each: Callable[[], bool],
        most: int | None = None,
        alone: Rounds | None = None,
    ) -> None:
        counter, sign = _change(add_to, take_from)
        new, sets = _local(N), [_local(facts) for facts in into]
        if not new:
            return
        found = self.none()
        reading = Reading(within, guard, negative, new, counter=counter, sign=sign)
        seen: Views | None = None
        last: Batch | None = None
        choice: Choice | None = None
        touched: list[int] = []
        used: NDArray[np.int64] | None = None
        run, spills = 0, self._spills
        if (
            most is not None
            or self.measure is not None
            or within is not self.all
            or self.all not in sets
            or negative is not None
            or not self._runner.is_new(guard)
        ):
            alone = None
        while new and each():
            relations = new.relations()
            for facts in sets:
                for r in relations:
                    facts.add(r, new.span(r) or new.rows(r))
            room = 0
            if spills != self._spills:  # while other work was done: bits may be others
                seen, spills = None, self._spills
            if alone is not None and not self._spilled and len(new) <= SMALL_ROUND:
                room = min(alone.room(), MOST_ALONE, LAST_AGE - self.store.now - len(new))
            if room > 0:  # plans for what was touched before may be needed again
                relations = [*touched, *(r for r in relations if r not in touched)]
            if choice is None or relations != touched or not self._book.serves(choice):
                touched, used = relations, None
                choice = self._book.choose(rules, Ask("delta", tuple(touched), exact=sign != 0))
            batch = choice.batch
            if batch is None:
                new.clear()
            elif self.measure is not None or batch.requests or self._spilled:
                before = self.counters.instances
                new.become(self._evaluate(rules, "delta", reading))
                if most is not None:  # a round is as a whole here
                    most -= self.counters.instances - before
                    if most <= 0:
                        return
            else:
                again = seen is not None and batch is last and not seen.tables.guard.of_nothing
                # Who evaluates something else between rounds leaves other views behind.
                again = again and self._runner.runs == run
                seen, last = seen or self._runner.views(reading), batch
                self.counters.evaluations += 1
                budget = Budget(most)
                unattended: Alone | None = None
                if alone is not None and room > 0 and len(batch.plans) <= MOST_PLANS:
                    used = batch.roles(touched) if used is None else used
                    unattended = Alone(choice, used, sets, alone, room, SMALL_ROUND)
                instances = self._runner.run(batch, found, reading, seen, again, budget, unattended)
                self.counters.instances += instances
                self.counters.evaluations += unattended.passed if unattended is not None else 0
                run = self._runner.runs
                if budget.spent:
                    return
                most = budget.work
                new.become(found)

    def provable(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
        older: frozenset[str] | None = None,
    ) -> LocalSet:
        return self._evaluate(rules, "prove", Reading(within, None, negative, _local(facts)), older)

    def support(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
        among: Sequence[str] | None = None,
    ) -> LocalSet:
        only = None if among is None else frozenset(among)
        return self._evaluate(
            rules, "support", Reading(within, None, negative, _local(facts)), only
        )

    def _evaluate(
        self,
        rules: Sequence[Rule],
        mode: Mode,
        reading: Reading,
        among: frozenset[str] | None = None,
    ) -> LocalSet:
        self._be_free()
        result = self.none()
        touched = tuple(reading.touching.relations()) if reading.touching is not None else ()
        lost = reading.touching_negated
        negated = tuple(lost.relations()) if lost is not None else ()
        batch = self._book.batch_for(rules, Ask(mode, touched, negated, reading.sign != 0, among))
        if batch is None:
            return result
        self.counters.evaluations += 1
        try:
            for r in batch.keys:
                self._collect_keys(r, reading)
            if self.measure is None:
                self._run(batch, result, reading)
                return result
            for plan in batch.plans:
                began, facts = time.perf_counter(), len(result)
                instances = self._run(self._book.batch((plan,)), result, reading)
                seconds = time.perf_counter() - began
                self.measure(Measure(plan.rule, seconds, instances, len(result) - facts))
        finally:
            for r in batch.keys:
                self.store.clear(r)
        return result

    def _collect_keys(self, r: int, reading: Reading) -> None:
        """Keys of the groups that the change has facts of, as rows of relation r."""
        for facts in (reading.touching, reading.touching_negated):
            if facts is not None:
                ask = Ask("delta", tuple(facts.relations()))
                batch = self._book.batch_for((self._book.keys[r],), ask)
                if batch is not None:
                    found = self.none()
                    keys = Reading(facts, touching=facts)
                    if self._spilled:
                        keys = self._ready(keys, found)
                    self._runner.run(batch, found, keys)
                    del found  # the rows stay

    def _run(self, batch: Batch, result: LocalSet, reading: Reading) -> int:
        if self._spilled:
            reading = self._ready(reading, result)
        for request in batch.requests:
            self._answer(request, result, reading)
        instances = self._runner.run(batch, result, reading)
        self.counters.instances += instances
        return instances

    def _answer(self, request: Request, result: LocalSet, reading: Reading) -> None:
        """Collect arguments that a string functor has not met, and have it computed. They are in
        the result meanwhile: one more set might be one too many."""
        call = request.outside
        asked, into = self.numbers[call.requests], self.numbers[call.relation]
        before = self.store.size(asked)
        try:
            # A request that was made before has its answer: only new rows are of interest.
            self._runner.run(
                self._book.batch((request.plan,)), result, reading._replace(guard=~self.all)
            )
            self._runner.answer(call, request.plan.rule, asked, into, before)
        except BaseException:
            # A request without an answer would read as 'there is none': forget these. Answers that
            # were given stay, because what rests on them must be found by them again.
            result.empty(asked)
            answered = self.store.rows(asked)[:before].copy()
            self.store.clear(asked)
            self.store.load(asked, answered, 0)
            raise
        result.empty(asked)

    def call(self, functions: Mapping[str, Functor]) -> None:
        """The functions that rules call from now on, by name."""
        self._runner.functions = functions

    def _be_free(self) -> None:
        """A function that a rule calls must not work with the facts that are being derived."""
        if self._runner.calling:
            raise TidelogError(
                "error: a functor uses the database that calls it\n"
                "    it may work with its arguments, and with what else it was given"
            )

    def join_order(self, rule: Rule) -> str:
        return self.plan_of(rule).text

    def plan_of(self, rule: Rule) -> Plan:
        """How the rule would be evaluated now, for `tidelog plan`."""
        return self._book.plan(rule, Ask("apply"), -1)

    # Facts as numbers.

    def identify(self, kind: Kind, values: Sequence[Value] | NDArray[Any]) -> Ids:
        if kind not in DTYPES:
            return np.array([self.dictionary.id(kind, value) for value in values], dtype=np.uint32)
        return self.dictionary.encode(kind, np.asarray(values, dtype=DTYPES[kind]))

    def values(self, kind: Kind, ids: Ids) -> Column:
        return self.dictionary.decode(kind, ids)

    def ids(self, view: View, relation: str) -> Ids:
        r = self.numbers[relation]
        data = self.store.rows(r)
        found = [data[rows] for _, rows in self.members(view, (r,))]
        return found[0] if found else data[:0]

    def pick(self, relation: str, ids: Ids) -> LocalSet:
        r, found = self.numbers[relation], self.none()
        before = self.store.size(r)
        try:
            known = self.store.enter(
                r, np.ascontiguousarray(ids), found.bit, lambda: self._runner.tick(None)
            )
        finally:
            if (now := self.store.size(r)) > before:
                found.adopt(r, slice(before, now), now - before)
        found.add(r, known)
        return found

    def ordered(self, relation: str, ids: Ids) -> NDArray[np.int64]:
        return self.dictionary.ordered(self.kinds[relation].kinds, ids)

    def profile(self, record: Callable[[Measure], None] | None) -> None:
        self.measure = record

    def worked(self, rule: Rule, seconds: float, facts: int) -> None:
        if self.measure is not None:
            self.measure(Measure(rule, seconds, 0, facts))

    # Counters.

    def positive(self, counter: Counter, facts: FactSet) -> LocalSet:
        assert isinstance(counter, LocalCounter)
        found = self.none()
        for r, rows in self.members(facts):
            numbers = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
            counts = self.store.counts(r, counter.which)[numbers]
            found.add(r, numbers[counts > 0].astype(np.uint32))
        return found

    def reset(self, counter: Counter, relations: Sequence[str]) -> None:
        assert isinstance(counter, LocalCounter)
        for name in relations:
            self.store.counts(self.numbers[name], counter.which)[:] = 0

    @property
    def ages(self) -> FactAges:
        return self

    @property
    def own_evaluation(self) -> None:
        return None

    @property
    def overlapping(self) -> OverlapStore:
        return self

    @property
    def profiles(self) -> Profiles:
        return self

    @property
    def join_orders(self) -> JoinOrders:
        return self

    @property
    def scratch(self) -> Scratch:
        return self

    def date(self, relations: Sequence[str]) -> None:
        for name in relations:
            self.store.date(self.numbers[name])

    def undate(self, relations: Sequence[str]) -> None:
        for name in relations:
            self.store.undate(self.numbers[name])

    # Changes.

    def change_explicit(
        self,
        op: Op,
        name: str,
        data: Table,
        changed: FactSet,
        check: Callable[[tuple[Value, ...]], None] | None = None,
    ) -> bool:
        if check is not None:
            for row in dict.fromkeys(data.rows()):
                check(row)
        r, rows, explicit = self.explicit_rows(name, data)
        rows = rows[~explicit] if op == "+" else rows[explicit]
        if not len(rows):
            return False
        self._restated.append((op, r, self.store.rows(r)[rows]))
        (self.explicit.add if op == "+" else self.explicit.remove)(r, rows)
        X = _local(changed)
        again, fresh = X.those(r, rows), X.others(r, rows)
        X.remove(r, again)
        X.add(r, fresh)
        return True

    def find(self, name: str, table: Table) -> LocalSet:
        found = self.none()
        r, rows, _ = self.explicit_rows(name, table)
        found.add(r, rows)
        return found

    def explicit_rows(self, name: str, table: Table) -> tuple[int, Rows, NDArray[np.bool_]]:
        """The rows of a table's facts, found or added; and whether each is explicit."""
        r = self.numbers[name]
        before = self.store.size(r)
        numbers = self.store.load(r, self._encode(table), 0)
        rows = _distinct(numbers.astype(np.uint32))
        self.store.note_odd(r, slice(before, self.store.size(r)))
        return r, rows, (self.store.mask(r)[rows] & np.uint16(self.explicit.bit)) != 0

    def take(self, relations: Sequence[str]) -> LocalTaken:
        taken = LocalTaken({})
        for name in relations:
            r = self.numbers[name]
            data, masks = self.store.rows(r), self.store.mask(r)
            bit = np.uint16(self.all.bit)
            there = np.flatnonzero(masks & bit)
            taken.rows[r] = data[there]
            if self.all.journal is not None:
                self.all.journal.append(("taken", r, taken.rows[r], self.store.ages(r, there)))
            held = (masks & ~bit) != 0
            data, masks = data[held], masks[held] & ~bit
            sets = [s for s in (self.explicit, *self._sets()) if s.count(r)]
            lists = [(s, s.rows(r)) for s in self._without_bits() if s.count(r)]
            spilled = [(s, self.store.rows(r)[rows]) for s, rows in lists]
            self.all.drop(r)
            self.store.clear(r)
            self.store.forget_odd(r)
            self._renumbered.add(r)
            self.store.load(r, data, 0)
            self.store.mask(r)[:] = masks
            for facts in sets:
                facts.renumber(r)
            for facts, ids in spilled:
                facts.drop(r)
                facts.add(r, self.store.load(r, ids, 0).astype(np.uint32))
            self.all.add(r, self.explicit.rows(r))
        return taken

    def compare(self, taken: Taken) -> tuple[LocalSet, LocalSet]:
        assert isinstance(taken, LocalTaken)
        gone, came = self.none(), self.none()
        for r, data in taken.rows.items():
            numbers = self.store.load(r, data, 0)
            self.store.forget_odd(r)
            is_now = (self.store.mask(r) & np.uint16(self.all.bit)) != 0
            was = np.zeros(len(is_now), dtype=np.bool_)
            was[numbers] = True
            self.store.complete(r)
            gone.add(r, np.flatnonzero(was & ~is_now).astype(np.uint32))
            came.add(r, np.flatnonzero(is_now & ~was).astype(np.uint32))
        return gone, came

    @contextmanager
    def as_before(self, gone: FactSet, came: FactSet) -> Iterator[None]:
        sets = _local(gone), _local(came)
        back, off = ({r: mine.rows(r) for r in mine.relations()} for mine in sets)
        for mine in sets:
            mine.release()
        self._put(back, off)
        self._not_yet = [(r, self.store.rows(r)[rows]) for r, rows in off.items()]
        try:
            yield
        finally:
            self._not_yet = []
            self._put(off, back)
        for mine, rows_of in zip(sets, (back, off), strict=True):
            self.place(mine)
            for r, rows in rows_of.items():
                mine.add(r, rows)

    def _put(self, there: Mapping[int, Rows], away: Mapping[int, Rows]) -> None:
        """Facts enter and leave the materialisation without a note."""
        with self.all.unnoticed():
            for r, rows in there.items():
                self.all.add(r, rows)
            for r, rows in away.items():
                self.all.remove(r, rows)
                self.store.note_odd(r, rows)

    def save(self, facts: FactSet) -> Saved:
        """The facts of a set in a form that lasts."""
        mine = _local(facts)
        return {r: self.store.rows(r)[mine.rows(r)] for r in mine.relations()}

    def hold(self, saved: Saved) -> LocalSet:
        """A set of facts that were saved."""
        found = self.none()
        for r, data in saved.items():
            found.add(r, self.store.load(r, data, 0).astype(np.uint32))
        return found

    def odd(self, saved: Sequence[Saved]) -> LocalSet:
        """The facts that an odd number of these have."""
        if len(saved) == 1:
            return self.hold(saved[0])
        found = self.none()
        for r in dict.fromkeys(r for each in saved for r in each):
            data = np.concatenate([each[r] for each in saved if r in each])
            rows, times = np.unique(self.store.load(r, data, 0), return_counts=True)
            found.add(r, rows[times % 2 == 1].astype(np.uint32))
        return found

    def joined(self, saved: Sequence[Saved]) -> Saved:
        """The facts of all of these, of which no two have one in common."""
        parts: dict[int, list[Ids]] = {}
        for each in saved:
            for r, data in each.items():
                parts.setdefault(r, []).append(data)
        return {r: mine[0] if len(mine) == 1 else np.concatenate(mine) for r, mine in parts.items()}

    def sizes_of(self, saved: Saved) -> dict[str, int]:
        """How many facts it has, by relations that it has some of."""
        return {self._names[r]: len(data) for r, data in saved.items()}

    def begin(self) -> None:
        """An update begins: from now on, changes of the materialisation can be undone.

        All facts must be in it, but for those that thinned relations leave out, and sets other
        than those two must be empty.
        """
        self._be_free()
        self.all.journal = []
        self.store.renew_ages()
        self._begun = self.sizes()
        self._small_until = self.counters.instances + FEW_INSTANCES
        self.store.too_odd.clear()
        self._renumbered.clear()
        self._runner.odd = self._find_odd

    def _find_odd(self, r: int) -> None:
        """Note a relation's odd rows: in sets of the update, gone from the materialisation, or
        new and not in it."""
        if r in self.store.too_odd or r in self._thinned or self.store.size(r) < FEW_ROWS:
            return
        if self.counters.instances < self._small_until:
            return
        store, bit = self.store, np.uint16(self.all.bit)
        rows = [s.rows(r) for s in self._sets() if s.count(r)]
        start = int(self._begun[r]) if r < len(self._begun) and r not in self._renumbered else 0
        fresh = np.flatnonzero((store.mask(r)[start:] & bit) == 0).astype(np.uint32)
        rows.append(fresh + np.uint32(start))
        gone = [data for move, q, data, _ in self.all.journal or () if q == r and move == "went"]
        gone += [data for q, data in (*self._left, *self._going, *self._not_yet) if q == r]
        if not store.keep_odd(r, sum(map(len, rows)) + sum(map(len, gone))):
            return
        for numbers in rows:
            store.note_odd(r, numbers)
        for data in gone:
            store.note_facts(r, data)

    def commit(self) -> None:
        self.end(undo=False)
        self.sweep(self._begun)

    def rollback(self) -> None:
        for op, r, data in reversed(self._restated):
            rows = self.store.load(r, data, 0).astype(np.uint32)
            (self.explicit.remove if op == "+" else self.explicit.add)(r, rows)
        self.end(undo=True)
        self.sweep(self._begun)

    def delta(
        self, phases: Sequence[tuple[Saved, Saved]], relations: Mapping[str, Relation]
    ) -> dict[str, RelationDelta]:
        went, came = net(phases)
        nothing = np.empty((0, 0), dtype=np.uint32)
        found: dict[str, RelationDelta] = {}
        for r in went.keys() | came.keys():
            relation = relations.get(self._names[r])
            if relation is not None:
                rows: dict[Op, Ids] = {"+": came.get(r, nothing), "-": went.get(r, nothing)}
                sizes = {op: len(ids) for op, ids in rows.items()}
                decode = partial(_decode, self, relation, rows)
                found[relation.name] = RelationDelta(relation, sizes, decode)
        return found

    def end(self, undo: bool) -> None:
        """Let go of all sets but the two that stay, after undoing what was changed if asked."""
        journal, self.all.journal = self.all.journal or [], None
        self._restated.clear()
        self._runner.odd = None
        self.store.forget_odd()
        for facts in (*self._sets(), *self._without_bits()):
            facts.release()
        if undo:
            for move, r, data, ages in reversed(journal):
                rows = self.store.load(r, data, 0).astype(np.uint32)
                (self.all.remove if move == "came" else self.all.add)(r, rows)
                if ages is not None:
                    self.store.set_ages(r, rows, ages)
        self._note_left(journal)

    def keep(self) -> None:
        """What an update has changed so far stays; only what follows can be undone."""
        journal, self.all.journal = self.all.journal or [], []
        self._restated.clear()
        self._note_left(journal)

    def _note_left(self, journal: Journal) -> None:
        self._left += [(r, data) for move, r, data, _ in journal if move == "went" and len(data)]

    @property
    def litter(self) -> int:
        """How many rows may have to be taken away: facts that have left the materialisation, and
        those that came since it was looked at last, which may never have been in it."""
        came = self.sizes()
        came[: len(self._begun)] -= self._begun
        left = sum(len(data) for _, data in (*self._left, *self._going))
        return left + int(came.clip(0).sum())

    def tidy(self, most: int) -> bool:
        """Take away some rows that are not in the materialisation, as `sweep` does with all of
        them. False if there are none any more. No set may hold facts but the two that stay."""
        self._going += self._left
        self._left = []
        for r, rows in self._fresh(self._begun).items():
            self._going.append((r, self.store.rows(r)[rows]))
        # All rows so far are listed, or in the materialisation.
        self._begun = self.sizes()
        self._renumbered.clear()
        if not self._going:
            self.store.forget_odd()
            return False
        left = most
        while left and self._going:
            r, data = self._going.pop()
            if len(data) > left:
                self._going.append((r, data[left:]))
                data = data[:left]
            left -= len(data)
            rows = _distinct(self.store.load(r, data, 0).astype(np.uint32))
            self.store.remove(r, self._useless(r, rows))
            self._begun[r] = self.store.size(r)
        return True

    def _fresh(self, before: NDArray[np.int64]) -> dict[int, Rows]:
        """Rows that came since then and are not in the materialisation."""
        now, known = self.store.sizes(), len(before)
        changed = {*np.flatnonzero(now[:known] != before).tolist(), *self._renumbered}
        changed.update(range(known, len(self._names)))
        found = {}
        for r in changed - set(self._book.functors):
            start = int(before[r]) if r < known and r not in self._renumbered else 0
            rows = self._useless(r, np.arange(start, now[r], dtype=np.uint32))
            if len(rows):
                found[r] = rows
        return found

    def _useless(self, r: int, rows: Rows) -> Rows:
        """Those that are not in the materialisation, and not kept as explicit facts either."""
        rows = self.all.others(r, rows)
        return self.explicit.others(r, rows) if r in self._thinned else rows

    def decoded(self, relation: Relation, ids: NDArray[np.uint32]) -> Table:
        """Facts that were saved, as values."""
        decode = self.dictionary.decode
        columns = tuple(decode(kind, ids[:, c]) for c, kind in enumerate(relation.kinds))
        return Table(relation.kinds, columns, len(ids))

    def undeclare(self, name: str) -> None:
        """Forget a relation, which has no facts. It keeps its number, which plans may know,
        should it come again."""
        relation = self.kinds.pop(name)
        self._retired[name, relation.arity] = self.numbers.pop(name)
        self._runner.renumber()

    def forget(self, rules: Collection[Rule]) -> None:
        """Drop what is known of rules that will not come again."""
        if rules:
            self._book.forget(rules)

    def sizes(self) -> NDArray[np.int64]:
        """Rows of every relation now; see `sweep`."""
        return self.store.sizes()[: len(self._names)].copy()

    def sweep(self, before: NDArray[np.int64]) -> None:
        """Take away rows that are not in the materialisation: of facts that left it in the update
        that has just ended, and newer ones.

        Row numbers change: no other set may be alive but the explicit facts and the
        materialisation.
        """
        left, self._left, self._going = [*self._going, *self._left], [], []
        counts = Counted[int]()
        for r, data in left:
            counts[r] += len(data)
        many = {r for r, count in counts.items() if self.store.is_part(r, count)}
        going: dict[int, list[Rows]] = {}
        for r, data in left:
            if r not in many:
                rows = self.store.load(r, data, 0).astype(np.uint32)
                going.setdefault(r, []).append(self._useless(r, rows))
        for r, rows in self._fresh(before).items():
            going.setdefault(r, []).append(rows)
        for r in (going.keys() | many) - set(self._book.functors):
            if r in many:  # to look at all rows is quicker than to look for those that went
                sets = self.all.bit | (self.explicit.bit if r in self._thinned else 0)
                self.store.keep(r, (self.store.mask(r) & np.uint16(sets)) != 0)
                continue
            parts = going[r]
            # A fact leaves once at a time, so that a part by itself has each row once.
            rows = parts[0] if len(parts) == 1 else _distinct(np.concatenate(parts))
            self.store.remove(r, rows)

    # Questions.

    def drop(self, relations: Iterable[str], rules: Iterable[Rule]) -> None:
        """Forget relations that were declared for a moment, with their facts, and their rules."""
        for name in relations:
            self.store.clear(self.numbers[name])
            self.undeclare(name)
        self._book.forget(rules)

    def holds(self, relation: Relation, row: Sequence[Value]) -> bool:
        """Is this fact in the materialisation?"""
        return self._is_in(self.all, relation, row)

    def is_explicit(self, relation: Relation, row: Sequence[Value]) -> bool:
        return self._is_in(self.explicit, relation, row)

    def _is_in(self, facts: LocalSet, relation: Relation, row: Sequence[Value]) -> bool:
        if len(row) != relation.arity or not all(map(fits, relation.kinds, row)):
            return False
        known = self.dictionary.known
        ids = [known(kind, value) for kind, value in zip(relation.kinds, row, strict=True)]
        if ABSENT in ids:
            return False
        r = self.numbers[relation.name]
        number = self.store.find(r, ids)
        return number >= 0 and bool(self.store.mask(r)[number] & np.uint16(facts.bit))

    def ask(
        self, strata: Sequence[Stratum], relation: Relation, parts: Sequence[Relation]
    ) -> Table:
        """Evaluate rules over relations of their own, `parts` among them, and forget all but the
        answer."""
        self.declare(relation)
        try:
            with self.scope():
                found = self.none()
                for stratum in strata:
                    view = self.all | found
                    found |= self.apply(stratum.rules, within=view)
                return self.table(relation.name, found)
        finally:
            for stratum in strata:
                for name in stratum.relations:
                    if name in self.numbers:
                        self.store.clear(self.numbers[name])
            self._book.forget(rule for stratum in strata for rule in stratum.rules)
            del self.kinds[relation.name]


def _change(add_to: Counter | None, take_from: Counter | None) -> tuple[int, int]:
    """The counter to change, and by how much."""
    counter = add_to or take_from
    if counter is None:
        return -1, 0
    assert isinstance(counter, LocalCounter)
    return counter.which, 1 if add_to is not None else -1


def _decode(engine: LocalEngine, relation: Relation, rows: dict[Op, Ids], op: Op) -> Table:
    return engine.decoded(relation, rows[op])


def _distinct(rows: Rows) -> Rows:
    """The numbers, in order; sorting them is quicker here than what NumPy does."""
    rows = np.sort(rows)
    different = np.ones(len(rows), dtype=np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=different[1:])
    return rows[different]


def _local(facts: FactSet) -> LocalSet:
    assert isinstance(facts, LocalSet)
    return facts

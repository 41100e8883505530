"""The evaluators: rules through the join kernel."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tidelog.engine import (
    Checked,
    Checking,
    Counter,
    FactSet,
    Ids,
    JoinOrders,
    Measure,
    ProofSearch,
    Rounds,
    View,
)
from tidelog.local import proof_search
from tidelog.local.body import Catalog, Mode
from tidelog.local.executor import Alone, Budget, Reading, Runner, Views
from tidelog.local.fact_sets import ROOM, FactSets, local, sets_of
from tidelog.local.functor_calls import FunctorCalls
from tidelog.local.plan_cache import Ask, Choice, PlanBatch, PlanBook
from tidelog.local.plan_steps import Request
from tidelog.local.row_store import LAST_AGE, RowCounters
from tidelog.local.sets import NOT_IN_ALL, LocalSet, key_of, listed
from tidelog.program.diagnostics import TidelogError
from tidelog.program.functors import Functor
from tidelog.program.rules import Rule

SMALL_ROUND = 1 << 12  # facts; the kernel goes on by itself after such a round
MOST_ALONE = 1 << 17  # facts, of all rounds that it runs by itself
MOST_PLANS = 256  # that are all looked at in each of these rounds


@dataclass(frozen=True, slots=True)
class LocalCounter(Counter):
    which: int


@dataclass(slots=True)
class LocalProfiles:
    record: Callable[[Measure], None] | None = None  # where given, rules run one by one

    def profile(self, record: Callable[[Measure], None] | None) -> None:
        self.record = record


@dataclass(frozen=True, slots=True)
class LocalAges:
    counters: RowCounters
    numbers: Mapping[str, int]

    def date(self, relations: Sequence[str]) -> None:
        for name in relations:
            self.counters.date(self.numbers[name])

    def undate(self, relations: Sequence[str]) -> None:
        for name in relations:
            self.counters.undate(self.numbers[name])


class Evaluators(FactSets):
    """Chooses plans, has the kernel run them, and has Python compute functors for it."""

    nonrecursive, recursive = LocalCounter(0), LocalCounter(1)

    def __init__(self) -> None:
        super().__init__()
        self.instances = 0
        self.ages = LocalAges(self.store.counters, self.numbers)
        self.profiles = LocalProfiles()
        self._calls = FunctorCalls(self.store, self.dictionary)
        self._book = PlanBook(
            Catalog(self.store, self.dictionary, self.relation, self.store.indexes.index)
        )
        self._runner = Runner(
            self.store, self.dictionary, self.all, self.numbers_of, self._book.answers
        )

        self._proofs = proof_search.ProofSearch(
            self.store, self.dictionary, self._runner, self._book, self.numbers.__getitem__
        )

    # What only some engines can do.

    @property
    def proofs(self) -> ProofSearch:
        return self

    def check(
        self, N: FactSet, C: FactSet, K: FactSet, asked: Checking, each: Callable[[], bool]
    ) -> Checked | None:
        self._be_free()
        fresh = [self.none() for _ in range(6)]
        if self.profiles.record is not None or self.bits.spilled or not asked.rules:
            return None
        counter = asked.direct.which if isinstance(asked.direct, LocalCounter) else None
        sets = proof_search.SearchSets(local(C), local(K), *fresh)
        checked = self._proofs.search(local(N), asked, sets, counter, each)
        if checked is not None:
            self.instances += checked.back + checked.forward + checked.lost
        return checked

    @property
    def own_evaluation(self) -> None:
        return None

    @property
    def join_orders(self) -> JoinOrders:
        return self._book

    def worked(self, rule: Rule, seconds: float, facts: int) -> None:
        if self.profiles.record is not None:
            self.profiles.record(Measure(rule, seconds, 0, facts))

    # What evaluation depends on.

    def watch(self, tick: Callable[[Rule | None], None] | None) -> None:
        self._runner.tick = tick or (lambda rule: None)

    def call(self, functions: Mapping[str, Functor]) -> None:
        self._calls.functions = functions

    def forget(self, rules: Collection[Rule]) -> None:
        self._book.forget(rules)

    def facts(self) -> int:
        """Rows held, of all relations but those that string functors and algorithms keep."""
        sizes = self.store.sizes()
        return int(sizes.sum() - sizes[[*self._book.functors, *self._aside]].sum())

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

    # Counters.

    def positive(self, counter: Counter, facts: FactSet) -> LocalSet:
        found = self.none()
        for r, rows in self.members(facts):
            numbers = listed(rows)
            found.add(r, numbers[self.store.counters.of(r, _which(counter))[numbers] > 0])
        return found

    def reset(self, counter: Counter, relations: Sequence[str]) -> None:
        for name in relations:
            self.store.counters.of(self.numbers[name], _which(counter))[:] = 0

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
        lost = None if touching_negated is None else local(touching_negated)
        counting = _change(add_to, take_from)
        reading = Reading(within, guard, negative, local(touching), lost, *counting)
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
        counting = _change(add_to, take_from)
        reading = Reading(within, guard, negative, None, None, *counting)
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
        new, sets = local(N), [local(facts) for facts in into]
        if not new:
            return
        found = self.none()
        reading = Reading(within, guard, negative, new, None, *_change(add_to, take_from))
        seen: Views | None = None
        last: PlanBatch | None = None
        choice: Choice | None = None
        touched: list[int] = []
        met: dict[int, None] = {}  # relations that had new facts in some round
        run, spills = 0, self.bits.spills
        if (
            most is not None
            or self.profiles.record is not None
            or within is not self.all
            or self.all not in sets
            or negative is not None
            or key_of(guard) != NOT_IN_ALL
        ):
            alone = None
        while new and each():
            relations = new.relations()
            for facts in sets:
                for r in relations:
                    facts.add(r, new.span(r) or new.rows(r))
            room = 0
            if spills != self.bits.spills:  # while other work was done: bits may be others
                seen, spills = None, self.bits.spills
            if alone is not None and not self.bits.spilled and len(new) <= SMALL_ROUND:
                room = min(alone.room(), MOST_ALONE, LAST_AGE - self.store.counters.now - len(new))
            if room > 0 and len(met) <= MOST_PLANS:
                # Where relations recur, rounds can go on by themselves if plans for all are ready.
                recur = not met.keys().isdisjoint(relations)
                met.update(dict.fromkeys(relations))
                relations = list(met) if recur else relations
            if choice is None or relations != touched or not choice.serves(self.store):
                touched = relations
                ask = Ask("delta", tuple(touched), exact=reading.sign != 0)
                choice = self._book.choose(rules, ask)
            batch, budget = choice.batch, Budget(most)
            if batch is None:
                new.clear()
            elif self.profiles.record is not None or batch.requests or self.bits.spilled:
                derived = self._evaluate(rules, "delta", reading, budget=budget)
                if budget.spent:
                    return
                new.become(derived)
            else:
                again = seen is not None and batch is last and not seen.tables.guard.of_nothing
                # Who evaluates something else between rounds leaves other views behind.
                again = again and self._runner.runs == run
                seen, last = seen or self._runner.views(reading), batch
                unattended: Alone | None = None
                if alone is not None and room > 0 and len(batch.plans) <= MOST_PLANS:
                    unattended = Alone(choice, sets, alone, room, SMALL_ROUND)
                self.instances += self._runner.run(
                    batch, found, reading, seen, again, budget, unattended
                )
                run = self._runner.runs
                if budget.spent:
                    return
                new.become(found)
            most = budget.work

    def provable(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
        older: frozenset[str] | None = None,
    ) -> LocalSet:
        return self._evaluate(rules, "prove", Reading(within, None, negative, local(facts)), older)

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
        return self._evaluate(rules, "support", Reading(within, None, negative, local(facts)), only)

    def _evaluate(
        self,
        rules: Sequence[Rule],
        mode: Mode,
        reading: Reading,
        among: frozenset[str] | None = None,
        budget: Budget | None = None,
    ) -> LocalSet:
        self._be_free()
        result = self.none()
        touched = tuple(reading.touching.relations()) if reading.touching is not None else ()
        lost = reading.touching_negated
        negated = tuple(lost.relations()) if lost is not None else ()
        ask = Ask(mode, touched, negated, reading.sign != 0, among)
        batch = self._book.choose(rules, ask).batch
        if batch is None:
            return result
        try:
            for r in batch.keys:
                self._collect_keys(r, reading)
            if self.profiles.record is None:
                self._run(batch, result, reading, budget)
                return result
            measures: list[Measure] = []
            for plan in batch.plans:
                began, facts = time.perf_counter(), len(result)
                instances = self._run(self._book.batch((plan,)), result, reading, budget)
                seconds = time.perf_counter() - began
                measures.append(Measure(plan.rule, seconds, instances, len(result) - facts))
                if budget is not None and budget.spent:
                    for measure in measures:
                        measure.facts = 0  # the result is of no use
                    break
            for measure in measures:
                self.profiles.record(measure)
        finally:
            for r in batch.keys:
                self.store.clear(r)
        return result

    def _collect_keys(self, r: int, reading: Reading) -> None:
        """Keys of the groups that the change has facts of, as rows of relation r."""
        for facts in (reading.touching, reading.touching_negated):
            if facts is not None:
                ask = Ask("delta", tuple(facts.relations()))
                batch = self._book.choose((self._book.keys[r],), ask).batch
                if batch is not None:
                    found = self.none()
                    keys = Reading(facts, touching=facts)
                    if self.bits.spilled:
                        keys = self._ready(keys, found)
                    self._runner.run(batch, found, keys)
                    del found  # the rows stay

    def _run(
        self, batch: PlanBatch, result: LocalSet, reading: Reading, budget: Budget | None = None
    ) -> int:
        if self.bits.spilled:
            reading = self._ready(reading, result)
        for request in batch.requests:
            self._answer(request, result, reading)
        instances = self._runner.run(batch, result, reading, budget=budget)
        self.instances += instances
        return instances

    def _ready(self, reading: Reading, result: LocalSet) -> Reading:
        """What an evaluation reads, over sets that all have bits, where some sets are spilled."""
        within, guard, negative, touching, lost, *counting = reading
        if len(sets_of(within, guard, negative)) > ROOM:
            within = self._one(within)
            guard = None if guard is None else self._one(guard)
            negative = None if negative is None else self._one(negative)
        self.bits.place_all([result, *sets_of(within, guard, negative, touching, lost)])
        return Reading(within, guard, negative, touching, lost, *counting)

    def _answer(self, request: Request, result: LocalSet, reading: Reading) -> None:
        """Collect arguments that a string functor has not met, and have it computed. They are in
        the result meanwhile: one more set might be one too many."""
        outside, rule = request.outside, request.plan.rule
        asked, into = self.numbers[outside.requests], self.numbers[outside.relation]
        before = self.store.size(asked)
        try:
            # A request that was made before has its answer: only new rows are of interest.
            batch = self._book.batch((request.plan,))
            self._runner.run(batch, result, reading._replace(guard=~self.all))
            rows = self.store.rows(asked)[before:]
            self._calls.answer(outside, rule, rows, into, lambda: self._runner.tick(rule))
        except BaseException:
            # A request without an answer would read as 'there is none': forget these. Answers that
            # were given stay, because what rests on them must be found by them again.
            result.empty(asked)
            answered = self.store.rows(asked)[:before].copy()
            self.store.clear(asked)
            self.store.load(asked, answered)
            raise
        result.empty(asked)

    def _be_free(self) -> None:
        """A function that a rule calls must not work with the facts that are being derived."""
        if self._calls.busy:
            raise TidelogError(
                "error: a functor uses the database that calls it\n"
                "    a functor may use only its arguments and data outside the database"
            )


def _which(counter: Counter) -> int:
    assert isinstance(counter, LocalCounter)
    return counter.which


def _change(add_to: Counter | None, take_from: Counter | None) -> tuple[int, int]:
    """The counter to change, and by how much."""
    counter = add_to or take_from
    return (-1, 0) if counter is None else (_which(counter), 1 if add_to is not None else -1)

"""A cache of plans for the current sizes, and batches of them for one call of the kernel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidelog.local.body import Catalog, Mode, Prepared, Use, prepare, with_keys
from tidelog.local.kernels import layout as at
from tidelog.local.kernels.fold import ALL_BOUND
from tidelog.local.plan_steps import RulePlan
from tidelog.local.planner import NO_BACK, Shapes, make_plan, supporting
from tidelog.local.row_store import RowStore
from tidelog.program.rules import Literal, Rule

CACHED_BATCHES = 4096  # then all are dropped: chosen, not measured
ONE_BY_ONE = 8  # relations whose sizes Python compares; for more, NumPy does
FEW = 64  # rules that are looked up one by one; more must come as the same sequence each time


_HEADS = {at.OP_EMIT, at.OP_PROVE, at.OP_SUPPORT}
_READS = {at.OP_SCAN, at.OP_LOOKUP, at.OP_MEMBER, at.OP_GROUP}
_MEMBERS = {at.OP_MEMBER, at.OP_SUPPORT, at.OP_OLDER}


class PlanBatch:
    """Plans put together, with the memory that a run of them needs."""

    def __init__(self, plans: tuple[RulePlan, ...], store: RowStore, keys: Container[int]) -> None:
        self.plans = plans
        lengths = [len(plan.steps) for plan in plans]
        starts = np.cumsum([0, *lengths], dtype=np.int64)
        steps = np.concatenate([plan.steps for plan in plans])
        args_at = 0
        for plan, start in zip(plans, starts.tolist(), strict=False):
            mine = steps[start : start + len(plan.steps)]
            mine[:, at.P_ARGS] += args_at
            mine[mine[:, at.P_BACK] > NO_BACK, at.P_BACK] += start
            args_at += len(plan.args)
        args = np.concatenate([plan.args for plan in plans])
        # What the kernel works with: registers, places, ends, and a stack of values.
        sizes = max(plan.registers for plan in plans) + 1, len(steps) + 1, len(steps) + 1
        stack = max(plan.stack for plan in plans) + 2
        self.counts: NDArray[np.int64] = np.zeros(len(plans), dtype=np.int64)  # of instances
        work = [np.zeros(size, dtype=np.int64) for size in (*sizes, stack)]
        self.arrays: tuple[NDArray[np.int64], ...] = (steps, args, starts, *work)
        self.addresses = tuple(array.ctypes.data for array in (*self.arrays, self.counts))
        self.indexes = tuple(dict.fromkeys(x for plan in plans for x in plan.indexes))
        self.index_array = np.array(self.indexes, dtype=np.int64)
        done = [(op, r, x) for op, r, x in steps[:, [at.P_OP, at.P_REL, at.P_IDX]].tolist()]
        self.heads = tuple(dict.fromkeys(r for op, r, _ in done if op in _HEADS))
        self.reads = tuple(dict.fromkeys(r for op, r, _ in done if op in _READS))
        # Relations whose facts are looked up one by one; of two columns, those that are heads too.
        self.members = tuple(
            dict.fromkeys(
                r for op, r, x in done if op in _MEMBERS or (op == at.OP_GROUP and x == ALL_BOUND)
            )
        )
        self.both = tuple(r for r in self.members if r in self.heads and store.arity(r) == 2)
        self.used = tuple(sorted({*self.heads, *self.reads, *self.members}))
        self.keys = tuple(r for r in self.reads if r in keys)  # of changed groups
        self.widest = max(store.arity(r) for r in self.heads)
        self.symbols_ordered = any(plan.symbols_ordered for plan in plans)
        self.requests = tuple(request for plan in plans for request in plan.requests)

    def roles(self, covered: Iterable[int]) -> NDArray[np.int64]:
        """The relations of the plans, and the role of each in rounds that the kernel begins."""
        heads, members, seen = set(self.heads), set(self.members), set(covered)
        kinds = [
            at.U_HEAD * (r in heads) | at.U_MEMBER * (r in members) | at.U_COVERED * (r in seen)
            for r in self.used
        ]
        return np.array(list(zip(self.used, kinds, strict=True)), dtype=np.int64)


@dataclass(slots=True)
class Choice:
    """A batch that serves while the sizes of these relations stay within bounds."""

    rules: Sequence[Rule]
    batch: PlanBatch | None  # None if no rule has to do with them
    relations: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    bounds: list[tuple[int, int, int]]  # the same: of a few, one by one is quicker
    roles: NDArray[np.int64] | None  # of the batch's relations, in rounds that go on by themselves

    def serves(self, store: RowStore) -> bool:
        """Would the same be chosen again?"""
        if len(self.bounds) > ONE_BY_ONE:
            now = store.sizes()[self.relations]
            return bool(((now >= self.low) & (now < self.high)).all())
        return all(low <= store.size(r) < high for r, low, high in self.bounds)


class Ask(NamedTuple):
    """Which plans of some rules are wanted, and the relations that the change has facts of."""

    mode: Mode
    touched: tuple[int, ...] = ()
    negated: tuple[int, ...] = ()  # of the change that negated literals see, in mode "change"
    exact: bool = False
    among: frozenset[str] | None = None


# Where rules read and write relations: by what is there and the relation, the rule and the place.
_Places = dict[tuple[str, int], list[tuple[Rule, int]]]


class PlanBook:
    """Plans by rule. Rules are known by identity: comparing them each time would cost more."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._store = catalog.store
        self.answers: set[int] = set()  # relations that hold the results of string functors
        self.functors: list[int] = []  # these and their requests
        self.keys: dict[int, Rule] = {}  # relations of changed keys, with the rules that collect
        self._shapes = Shapes(catalog)
        self._prepared: dict[tuple[int, bool], Prepared] = {}
        self._plans: dict[tuple[object, ...], tuple[tuple[int, ...], RulePlan]] = {}
        self._batches: dict[tuple[int, ...], PlanBatch] = {}
        self._choices: dict[tuple[object, ...], Choice] = {}
        self._places: dict[object, tuple[Sequence[Rule], _Places]] = {}
        self._keys: dict[int, list[Any]] = {}  # where something is known of a rule

    def join_order(self, rule: Rule) -> str:
        return self.plan(rule, Ask("apply"), -1).text

    def choose(self, rules: Sequence[Rule], ask: Ask) -> Choice:
        """Plans of all rules that have to do with the touched relations."""
        about: object = tuple(map(id, rules)) if len(rules) < FEW else id(rules)
        key = (about, ask)
        choice = self._choices.get(key)
        if choice is not None and choice.serves(self._store):
            return choice
        read: set[int] = set()
        chosen = self._relevant(rules, self._places_of(about, rules, ask.mode), ask, read)
        plans = tuple(self.plan(rule, ask, place) for rule, place in chosen)
        batch = self.batch(plans) if plans else None
        relations = np.array(sorted(read), dtype=np.int64)
        buckets = [_bucket(int(n)) for n in self._store.sizes()[relations]]
        low = np.array([_floor(bucket) for bucket in buckets], dtype=np.int64)
        high = np.array([_floor(bucket + 1) for bucket in buckets], dtype=np.int64)
        if len(self._choices) > CACHED_BATCHES:
            self._choices.clear()
        if choice is None:
            self._note(rules, key)
        bounds = list(zip(relations.tolist(), low.tolist(), high.tolist(), strict=True))
        roles = None if batch is None else batch.roles(ask.touched)
        self._choices[key] = Choice(rules, batch, relations, low, high, bounds, roles)
        return self._choices[key]

    def _note(self, rules: Iterable[Rule], key: object) -> None:
        for rule in rules:
            self._keys.setdefault(id(rule), []).append(key)

    def _places_of(self, about: object, rules: Sequence[Rule], mode: Mode) -> _Places:
        change = mode == "change"
        known = self._places.get((about, change))
        if known is not None:
            return known[1]
        number = self._catalog.number
        places: defaultdict[tuple[str, int], list[tuple[Rule, int]]] = defaultdict(list)
        for rule in rules:
            places["head", number(rule.head)].append((rule, -1))
            prepared = self.prepare(rule, change)
            for place, part in enumerate(prepared.parts):
                if place in prepared.changed:
                    body = prepared.changed[place].body[0]
                    assert isinstance(body, Literal)
                    places["group", number(body)].append((rule, place))
                elif isinstance(part, Literal):
                    kind = "negated" if part.negated else "positive"
                    places[kind, number(part)].append((rule, place))
        if len(self._places) > CACHED_BATCHES:
            self._places.clear()
        self._places[about, change] = rules, places
        self._note(rules, (about, change))
        return places

    def _relevant(
        self, rules: Sequence[Rule], places: _Places, ask: Ask, read: set[int]
    ) -> list[tuple[Rule, int]]:
        """Rules that could fire, by the place that ranges over the delta.

        Notes in `read` the relations whose sizes the choice depends on: a rule with an empty
        relation in its body is left out, which matters to programs with many rules.
        """
        wanted: Iterable[tuple[Rule, int]] = ((rule, -1) for rule in rules)
        if ask.mode != "apply":
            keys = [("head", r) for r in ask.touched]
            if ask.mode in ("delta", "change"):
                keys = [("positive", r) for r in ask.touched]
                keys += [("negated", r) for r in ask.negated]
                keys += [("group", r) for r in dict.fromkeys(ask.touched + ask.negated)]
            wanted = (found for key in keys for found in places.get(key, ()))
        chosen: list[tuple[Rule, int]] = []
        for rule, place in wanted:
            prepared = self.prepare(rule)
            positive = [self._catalog.number(literal) for literal in supporting(prepared, None)]
            read.update(positive)
            if any(self._store.size(r) == 0 for r in positive):
                continue
            if ask.mode not in ("support", "search") or supporting(prepared, ask.among):
                chosen.append((rule, place))
        return chosen

    def prepare(self, rule: Rule, change: bool = False) -> Prepared:
        prepared = self._prepared.get((id(rule), change))
        if prepared is None:
            prepared = prepare(rule)
            relation = self._catalog.relation
            for call in prepared.outside:
                answers = relation(call.relation, len(call.signature))
                requests = relation(call.requests, len(call.signature) - 1)
                if answers not in self.answers:
                    self.answers.add(answers)
                    self.functors += (answers, requests)
            if change:
                prepared = with_keys(prepared)
                for keys in prepared.changed.values():
                    r = self._catalog.number(keys.head)
                    self.keys.setdefault(r, keys)
                    if r not in self.answers:  # in no set; all may be read
                        self.answers.add(r)
                        self.functors.append(r)
            self._prepared[id(rule), change] = prepared
        return prepared

    def plan(self, rule: Rule, ask: Ask, delta: int) -> RulePlan:
        """The plan for the current sizes; it is made again when they have changed much."""
        prepared = self.prepare(rule, ask.mode == "change")
        sizes = tuple(
            _bucket(self._store.size(self._catalog.number(p)))
            for p in prepared.parts
            if isinstance(p, Literal)
        )
        use = Use(ask.mode, delta, ask.exact, ask.among)
        key = (id(rule), use)
        known = self._plans.get(key)
        if known is not None and known[0] == sizes:
            return known[1]
        plan = make_plan(self._catalog, prepared, use, self._shapes)
        if known is None:
            self._note((rule,), key)
        self._plans[key] = (sizes, plan)
        return plan

    def batch(self, plans: tuple[RulePlan, ...]) -> PlanBatch:
        key = tuple(map(id, plans))
        batch = self._batches.get(key)
        if batch is None:
            if len(self._batches) > CACHED_BATCHES:
                self._batches.clear()
            batch = self._batches[key] = PlanBatch(plans, self._store, self.keys)
        return batch

    def forget(self, rules: Iterable[Rule]) -> None:
        """Drop the plans of rules that were removed for good."""
        for rule in rules:
            number = id(rule)
            self._prepared.pop((number, False), None)
            self._prepared.pop((number, True), None)
            for key in self._keys.pop(number, ()):
                self._plans.pop(key, None)
                self._choices.pop(key, None)
                self._places.pop(key, None)


def _bucket(size: int) -> int:
    """A class of sizes within a factor of about four; zero is a class of its own."""
    return 1 + size.bit_length() // 2 if size else 0


def _floor(bucket: int) -> int:
    """The least size in a bucket."""
    return bucket if bucket < 2 else 1 << (2 * bucket - 3)

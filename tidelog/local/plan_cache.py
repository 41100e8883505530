"""Plans at hand: made for the sizes of now, put together for one call of the kernel."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidelog.local.body import Prepared, prepare, with_keys
from tidelog.local.join_order import Catalog, Mode
from tidelog.local.kernels import layout as at
from tidelog.local.kernels.fold import ALL_BOUND
from tidelog.local.plan_shapes import Shapes
from tidelog.local.plan_steps import Plan, Request
from tidelog.local.planner import NO_BACK, make_plan, supporting
from tidelog.program.rules import Literal, Rule

MOST_BATCHES = 4096
ONE_BY_ONE = 8  # relations
FEW = 64  # rules that are looked up one by one; more must come as the same sequence each time


@dataclass(slots=True)
class Batch:
    """Plans put together, with the memory that a run of them needs."""

    plans: tuple[Plan, ...]
    arrays: tuple[NDArray[np.int64], ...]  # what the addresses point into
    addresses: tuple[int, int, int]  # of steps, arguments and the plans' starts
    workspace: tuple[int, int, int]  # of registers, places and ends
    stack_at: int
    counts: NDArray[np.int64]
    counts_at: int
    indexes: tuple[int, ...]
    index_array: NDArray[np.int64]  # the same
    heads: tuple[int, ...]
    reads: tuple[int, ...]
    members: tuple[int, ...]  # relations whose facts are looked up one by one
    both: tuple[int, ...]  # members of two columns that are heads as well
    used: tuple[int, ...]  # all of these relations
    keys: tuple[int, ...]  # relations of changed keys that are read
    widest: int  # head
    symbols_ordered: bool
    requests: tuple[Request, ...]

    def roles(self, covered: Container[int]) -> NDArray[np.int64]:
        """The relations, with what each is in rounds of which the plans see the delta of some."""
        kinds = [
            at.U_HEAD * (r in self.heads)
            | at.U_MEMBER * (r in self.members)
            | at.U_COVERED * (r in covered)
            for r in self.used
        ]
        return np.array(list(zip(self.used, kinds, strict=True)), dtype=np.int64)


@dataclass(slots=True)
class Choice:
    """A batch that serves while the sizes of these relations stay within bounds."""

    rules: Sequence[Rule]
    batch: Batch | None
    relations: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    bounds: list[tuple[int, int, int]]  # the same: of a few, one by one is quicker

    def serves(self, catalog: Catalog) -> bool:
        if len(self.bounds) > ONE_BY_ONE:
            now = catalog.sizes()[self.relations]
            return bool(((now >= self.low) & (now < self.high)).all())
        return all(low <= catalog.size(r) < high for r, low, high in self.bounds)


class Ask(NamedTuple):
    """Which plans of some rules are wanted, and the relations that the change has facts of."""

    mode: Mode
    touched: tuple[int, ...] = ()
    negated: tuple[int, ...] = ()  # of the change that negated literals see, in mode "change"
    exact: bool = False
    among: frozenset[str] | None = None


@dataclass(slots=True)
class _Places:
    """Where some rules read and write relations."""

    rules: Sequence[Rule]
    positive: dict[int, list[tuple[Rule, int]]] = field(default_factory=dict)
    negated: dict[int, list[tuple[Rule, int]]] = field(default_factory=dict)
    groups: dict[int, list[tuple[Rule, int]]] = field(default_factory=dict)
    heads: dict[int, list[Rule]] = field(default_factory=dict)


class PlanBook:
    """Plans by rule. Rules are known by identity: comparing them each time would cost more."""

    def __init__(self, catalog: Catalog, answers: set[int]) -> None:
        self._catalog = catalog
        self._answers = answers  # relations that hold the results of string functors
        self.functors: list[int] = []  # these and their requests
        self.keys: dict[int, Rule] = {}  # relations of changed keys, with the rules that collect
        self._shapes = Shapes(catalog)
        self._prepared: dict[tuple[int, bool], Prepared] = {}
        self._plans: dict[tuple[object, ...], tuple[tuple[int, ...], Plan]] = {}
        self._batches: dict[tuple[int, ...], Batch] = {}
        self._choices: dict[tuple[object, ...], Choice] = {}
        self._places: dict[object, _Places] = {}
        self._keys: dict[int, list[Any]] = {}  # where something is known of a rule

    def batch_for(self, rules: Sequence[Rule], ask: Ask) -> Batch | None:
        """Plans of all rules that have to do with the touched relations; None if none has."""
        return self.choose(rules, ask).batch

    def serves(self, choice: Choice) -> bool:
        """Would the same be chosen again?"""
        return choice.serves(self._catalog)

    def choose(self, rules: Sequence[Rule], ask: Ask) -> Choice:
        about: object = tuple(map(id, rules)) if len(rules) < FEW else id(rules)
        key = (about, ask)
        choice = self._choices.get(key)
        if choice is not None and choice.serves(self._catalog):
            return choice
        read: set[int] = set()
        chosen = self._relevant(self._places_of(about, rules, ask.mode), ask, read)
        plans = tuple(self.plan(rule, ask, place) for rule, place in chosen)
        batch = self.batch(plans) if plans else None
        relations = np.array(sorted(read), dtype=np.int64)
        buckets = [_bucket(int(n)) for n in self._catalog.sizes()[relations]]
        low = np.array([_floor(bucket) for bucket in buckets], dtype=np.int64)
        high = np.array([_floor(bucket + 1) for bucket in buckets], dtype=np.int64)
        if len(self._choices) > MOST_BATCHES:
            self._choices.clear()
        if choice is None:
            self._note(rules, key)
        bounds = list(zip(relations.tolist(), low.tolist(), high.tolist(), strict=True))
        self._choices[key] = Choice(rules, batch, relations, low, high, bounds)
        return self._choices[key]

    def _note(self, rules: Iterable[Rule], key: object) -> None:
        for rule in rules:
            self._keys.setdefault(id(rule), []).append(key)

    def _places_of(self, about: object, rules: Sequence[Rule], mode: Mode) -> _Places:
        change = mode == "change"
        known = self._places.get((about, change))
        if known is not None:
            return known
        places = _Places(rules)
        for rule in rules:
            places.heads.setdefault(self._number(rule.head), []).append(rule)
            prepared = self.prepare(rule, change)
            for place, part in enumerate(prepared.parts):
                if place in prepared.changed:
                    body = prepared.changed[place].body[0]
                    assert isinstance(body, Literal)
                    places.groups.setdefault(self._number(body), []).append((rule, place))
                elif isinstance(part, Literal):
                    by_relation = places.negated if part.negated else places.positive
                    by_relation.setdefault(self._number(part), []).append((rule, place))
        if len(self._places) > MOST_BATCHES:
            self._places.clear()
        self._places[about, change] = places
        self._note(rules, (about, change))
        return places

    def _relevant(self, places: _Places, ask: Ask, read: set[int]) -> list[tuple[Rule, int]]:
        """Rules that could fire, by the place that ranges over the delta.

        Notes in `read` the relations whose sizes the choice depends on: a rule with an empty
        relation in its body is left out, which matters to programs with many rules.
        """
        wanted: list[tuple[Rule, int]] = []
        if ask.mode == "apply":
            wanted += ((rule, -1) for rule in places.rules)
        elif ask.mode in ("delta", "change"):
            for r in ask.touched:
                wanted += places.positive.get(r, ())
            for r in ask.negated:
                wanted += places.negated.get(r, ())
            for r in dict.fromkeys(ask.touched + ask.negated):
                wanted += places.groups.get(r, ())
        else:
            for r in ask.touched:
                wanted += ((rule, -1) for rule in places.heads.get(r, ()))
        chosen: list[tuple[Rule, int]] = []
        for rule, place in wanted:
            prepared = self.prepare(rule)
            positive = [
                self._number(part)
                for part in prepared.parts
                if isinstance(part, Literal) and not part.negated
            ]
            read.update(positive)
            if any(self._catalog.size(r) == 0 for r in positive):
                continue
            if ask.mode != "support" or supporting(prepared, ask.among):
                chosen.append((rule, place))
        return chosen

    def _number(self, literal: Literal) -> int:
        return self._catalog.relation(literal.relation, len(literal.terms))

    def prepare(self, rule: Rule, change: bool = False) -> Prepared:
        prepared = self._prepared.get((id(rule), change))
        if prepared is None:
            prepared = prepare(rule)
            relation = self._catalog.relation
            for call in prepared.outside:
                answers = relation(call.relation, len(call.signature))
                requests = relation(call.requests, len(call.signature) - 1)
                if answers not in self._answers:
                    self._answers.add(answers)
                    self.functors += (answers, requests)
            if change:
                prepared = with_keys(prepared)
                for keys in prepared.changed.values():
                    r = self._number(keys.head)
                    self.keys.setdefault(r, keys)
                    if r not in self._answers:  # in no set; all may be read
                        self._answers.add(r)
                        self.functors.append(r)
            self._prepared[id(rule), change] = prepared
        return prepared

    def plan(self, rule: Rule, ask: Ask, delta: int) -> Plan:
        """The plan for the sizes of now: it is made again when they have changed much."""
        prepared = self.prepare(rule, ask.mode == "change")
        sizes = tuple(
            _bucket(self._catalog.size(self._number(p)))
            for p in prepared.parts
            if isinstance(p, Literal)
        )
        key = (id(rule), ask.mode, delta, ask.exact, ask.among)
        known = self._plans.get(key)
        if known is not None and known[0] == sizes:
            return known[1]
        plan = make_plan(
            self._catalog, prepared, ask.mode, delta, ask.exact, ask.among, self._shapes
        )
        if known is None:
            self._note((rule,), key)
        self._plans[key] = (sizes, plan)
        return plan

    def batch(self, plans: tuple[Plan, ...]) -> Batch:
        key = tuple(map(id, plans))
        batch = self._batches.get(key)
        if batch is None:
            if len(self._batches) > MOST_BATCHES:
                self._batches.clear()
            batch = self._batches[key] = put_together(plans, self._catalog, self.keys)
        return batch

    def forget(self, rules: Iterable[Rule]) -> None:
        """Drop what is known of rules that will not come again."""
        for rule in rules:
            number = id(rule)
            self._prepared.pop((number, False), None)
            self._prepared.pop((number, True), None)
            for key in self._keys.pop(number, ()):
                self._plans.pop(key, None)
                self._choices.pop(key, None)
                self._places.pop(key, None)


def _bucket(size: int) -> int:
    """Sizes within a factor of four or so are alike; nothing is like nothing only."""
    return 1 + size.bit_length() // 2 if size else 0


def _floor(bucket: int) -> int:
    """The least size in a bucket."""
    return bucket if bucket < 2 else 1 << (2 * bucket - 3)


def put_together(plans: tuple[Plan, ...], catalog: Catalog, keys: Container[int] = ()) -> Batch:
    starts = np.cumsum([0] + [len(plan.steps) for plan in plans])
    steps = np.concatenate([plan.steps for plan in plans])
    args_at = 0
    for plan, start in zip(plans, starts.tolist(), strict=False):
        mine = steps[start : start + len(plan.steps)]
        mine[:, at.P_ARGS] += args_at
        mine[mine[:, at.P_BACK] > NO_BACK, at.P_BACK] += start
        args_at += len(plan.args)
    arrays = (
        np.ascontiguousarray(steps),
        np.concatenate([plan.args for plan in plans]),
        starts.astype(np.int64),
        np.zeros(max(plan.registers for plan in plans) + 1, dtype=np.int64),
        np.zeros(len(steps) + 1, dtype=np.int64),
        np.zeros(len(steps) + 1, dtype=np.int64),
        np.zeros(max(plan.stack for plan in plans) + 2, dtype=np.int64),
    )
    places = [array.ctypes.data for array in arrays]
    counts = np.zeros(len(plans), dtype=np.int64)
    indexes = tuple(dict.fromkeys(x for plan in plans for x in plan.indexes))
    heads, reads, members, widest = _relations_of(steps, plans, catalog)
    return Batch(
        plans,
        arrays,
        (places[0], places[1], places[2]),
        (places[3], places[4], places[5]),
        places[6],
        counts,
        counts.ctypes.data,
        indexes,
        np.array(indexes, dtype=np.int64),
        heads,
        reads,
        members,
        tuple(r for r in members if r in heads and catalog.arity(r) == 2),
        tuple(sorted({*heads, *reads, *members})),
        tuple(r for r in reads if r in keys),
        widest,
        any(plan.symbols_ordered for plan in plans),
        tuple(r for plan in plans for r in plan.requests),
    )


_HEADS = {at.OP_EMIT, at.OP_PROVE, at.OP_SUPPORT}
_READS = {at.OP_SCAN, at.OP_LOOKUP, at.OP_MEMBER, at.OP_GROUP}
_MEMBERS = {at.OP_MEMBER, at.OP_SUPPORT, at.OP_OLDER}


def _relations_of(
    steps: NDArray[np.int64], plans: tuple[Plan, ...], catalog: Catalog
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]:
    """Relations that the steps write, read, and look up fact by fact; the widest head."""
    heads: dict[int, None] = {}
    reads: dict[int, None] = {}
    members: dict[int, None] = {}
    for op, r, x in steps[:, [at.P_OP, at.P_REL, at.P_IDX]].tolist():
        if op in _HEADS:
            heads[r] = None
        if op in _READS:
            reads[r] = None
        if op in _MEMBERS or (op == at.OP_GROUP and x == ALL_BOUND):
            members[r] = None
    widest = max(catalog.arity(r) for r in heads)
    return tuple(heads), tuple(reads), tuple(members), widest

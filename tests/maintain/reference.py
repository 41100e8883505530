"""An engine over Python sets, by brute force, that logs every instance it considers.

It shares no code with other engines: values are those of naive evaluation.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from operator import xor
from typing import Any, Self

import numpy as np

from tidelog.engine import Combination, Counter, FactAges, FactSet, Ids, Rounds, Split, Taken, View
from tidelog.oracle.values import apply, as_kind, cast, each, folded, holds, same
from tidelog.program.builtin_functors import PARTIAL
from tidelog.program.rules import (
    BodyLiteral,
    Constraint,
    Group,
    Literal,
    Range,
    Relation,
    Rule,
)
from tidelog.program.syntax import Call, Cast, Constant, Kind, Value, Variable, Wildcard

Fact = tuple[str, tuple[Value, ...]]
Env = dict[str, Any]


class PySet(FactSet):
    __slots__ = ("__weakref__", "ages", "facts")

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self.facts = set(facts)
        self.ages: dict[Fact, int] | None = None  # in which order facts came, where that is noted

    def __len__(self) -> int:
        return len(self.facts)

    def __ior__(self, other: View) -> Self:
        new = extent(other) - self.facts
        if self.ages is not None:
            now = max(self.ages.values(), default=0)
            self.ages.update((fact, now + i) for i, fact in enumerate(sorted(new, key=repr), 1))
        self.facts |= new
        return self

    def __isub__(self, other: View) -> Self:
        member = membership(other)
        self.facts = {fact for fact in self.facts if not member(fact)}
        return self


class PyCounter(Counter):
    __slots__ = ("numbers",)

    def __init__(self) -> None:
        self.numbers = Tally[Fact]()


@dataclass
class PyTaken(Taken):
    relations: frozenset[str]
    facts: set[Fact]


def membership(view: View) -> Callable[[Fact], bool]:
    if isinstance(view, PySet):
        return view.facts.__contains__
    if isinstance(view, Split):
        inside, outside = membership(view.inside), membership(view.outside)
        return lambda fact: (inside if fact[0] in view.relations else outside)(fact)
    assert isinstance(view, Combination)
    left = membership(view.left)
    if view.op == "not":
        return lambda fact: not left(fact)
    right = membership(view.right)
    if view.op == "or":
        return lambda fact: left(fact) or right(fact)
    return lambda fact: left(fact) and right(fact)


def extent(view: View) -> set[Fact]:
    """The facts of a view that lies within sets."""
    member = membership(view)
    return {fact for facts in _bounds(view) for fact in facts if member(fact)}


def _bounds(view: View) -> list[set[Fact]]:
    if isinstance(view, PySet):
        return [view.facts]
    if isinstance(view, Split):
        return _bounds(view.inside) + _bounds(view.outside)
    assert isinstance(view, Combination)
    if view.op == "or":
        return _bounds(view.left) + _bounds(view.right)
    if view.op == "and":
        return _bounds(view.left) if _is_bounded(view.left) else _bounds(view.right)
    raise AssertionError("a complement has no bounds")


def _is_bounded(view: View) -> bool:
    if not isinstance(view, Combination):
        return True
    if view.op == "and":
        return _is_bounded(view.left) or _is_bounded(view.right)
    return view.op == "or" and _is_bounded(view.left) and _is_bounded(view.right)


@dataclass(frozen=True)
class Instance:
    """A way to match a rule's body; `values` are those of all its variables."""

    rule: Rule
    body: tuple[Fact, ...]
    values: tuple[tuple[str, Any], ...]
    head: Fact


@dataclass
class Facts:
    """Facts with indexes, for one evaluation."""

    by_relation: dict[str, list[tuple[Value, ...]]]
    indexes: dict[tuple[str, tuple[int, ...]], dict[tuple[Value, ...], list[tuple[Value, ...]]]] = (
        field(default_factory=dict)
    )

    @classmethod
    def of(cls, view: View) -> Facts:
        found: dict[str, list[tuple[Value, ...]]] = defaultdict(list)
        for name, row in extent(view):
            found[name].append(row)
        return cls(found)

    def matching(self, relation: str, terms: Sequence[Any], env: Env) -> Iterator[Env]:
        known = [(i, value(t, env)) for i, t in enumerate(terms) if _is_known(t, env)]
        key = relation, tuple(i for i, _ in known)
        if key not in self.indexes:
            index = self.indexes[key] = defaultdict(list)
            for row in self.by_relation.get(relation, ()):
                index[tuple(row[i] for i in key[1])].append(row)
        for row in self.indexes[key].get(tuple(v for _, v in known), ()):
            found = matched(terms, row, env)
            if found is not None:
                yield found | {"": row}


def _is_known(term: Any, env: Env) -> bool:
    return isinstance(term, Constant) or (isinstance(term, Variable) and term.name in env)


def matched(terms: Sequence[Any], row: Sequence[Value], env: Env) -> Env | None:
    found = dict(env)
    for term, cell in zip(terms, row, strict=True):
        if isinstance(term, Wildcard):
            continue
        if isinstance(term, Variable) and term.name not in found:
            found[term.name] = cell
        elif not same(value(term, found), cell):
            return None
    return found


SYMBOLS: dict[str, int] = {}


def value(term: Any, env: Env) -> Any:
    match term:
        case Variable(name):
            return env[name]
        case Constant(cell, kind):
            return as_kind(cell, kind)
        case Cast(inner) | Call("ord", (inner,)):
            return cast(value(inner, env), inner.kind, term.kind, SYMBOLS)
        case Call(functor, args):
            values = [value(arg, env) for arg in args]
            return as_kind(apply(functor, values, args[0].kind, term.kind), term.kind)
    raise AssertionError(term)


def names(term: Any) -> set[str]:
    match term:
        case Variable(name):
            return {name}
        case Call(_, args):
            return set().union(*map(names, args))
        case Cast(inner):
            return names(inner)
    return set()


def can_fail(term: Any) -> bool:
    match term:
        case Call(functor, args):
            return functor in PARTIAL or any(map(can_fail, args))
        case Cast(inner):
            return can_fail(inner)
    return False


def instances(rule: Rule, X: Facts, Y: Facts, given: Env | None = None) -> Iterator[Instance]:
    """All instances: positive literals in X, the others in Y; some variables may be given."""
    keys = {id(part): _key(rule, part) for part in rule.body if isinstance(part, Group)}

    def go(left: tuple[BodyLiteral, ...], env: Env, used: dict[int, Fact]) -> Iterator[Instance]:
        if not left:
            head = rule.head.relation, tuple(value(t, env) for t in rule.head.terms)
            body = tuple(used[id(p)] for p in rule.body if id(p) in used)
            yield Instance(rule, body, tuple(sorted(env.items())), head)
            return
        part = min(left, key=lambda p: _rank(p, env, keys))
        rest = tuple(p for p in left if p is not part)
        match part:
            case Literal(relation, terms, False):
                for found in X.matching(relation, terms, env):
                    row = found.pop("")
                    yield from go(rest, found, used | {id(part): (relation, row)})
            case Literal(relation, terms, True):
                if not any(True for _ in Y.matching(relation, terms, env)):
                    yield from go(rest, env, used)
            case Range(variable, start, stop, step):
                bounds = [value(t, env) for t in (start, stop, step) if t is not None]
                for number in each(*bounds):
                    found = matched((variable,), (as_kind(number, variable.kind),), env)
                    if found is not None:
                        yield from go(rest, found, used)
            case Group(op, result, target, relation, terms):
                matches = list(Y.matching(relation, terms, env))
                values = [1 if target is None else found[target.name] for found in matches]
                answer = folded(op, values, result.kind)
                found = None if answer is None else matched((result,), (answer,), env)
                if found is not None:
                    yield from go(rest, found, used)
            case Constraint(op, one, other):
                for side, term in ((one, other), (other, one)):
                    if op == "=" and isinstance(side, Variable) and side.name not in env:
                        yield from go(rest, env | {side.name: value(term, env)}, used)
                        break
                else:
                    true = holds(
                        op.removeprefix("!") if op != "!=" else op,
                        value(one, env),
                        value(other, env),
                    )
                    if true != (op[0] == "!" and op != "!="):
                        yield from go(rest, env, used)

    yield from go(rule.body, dict(given or {}), {})


def _key(rule: Rule, group: Group) -> set[str]:
    """Names in the aggregate that occur elsewhere in the rule."""
    inside = set().union(*map(names, group.terms))
    others = [rule.head, *(part for part in rule.body if part is not group)]
    return {name for part in others for name in _mentions(part)} & inside


def _mentions(part: Any) -> set[str]:
    match part:
        case Literal(_, terms):
            return set().union(*map(names, terms))
        case Constraint(_, one, other):
            return names(one) | names(other)
        case Range(variable, start, stop, step):
            return names(variable) | names(start) | names(stop) | names(step)
        case Group(_, result, _, _, terms):
            return names(result).union(*map(names, terms))
    raise AssertionError(part)


def _rank(part: BodyLiteral, env: Env, keys: dict[int, set[str]]) -> tuple[int, int]:
    """What can be evaluated comes first; what can fail, as late as it can."""
    never = (9, 0)
    match part:
        case Literal(_, terms, False):
            return 2, sum(not _is_known(t, env) for t in terms)
        case Literal(_, _, True):
            return (1, 0) if _mentions(part) <= env.keys() else never
        case Group():
            return (3, 0) if keys[id(part)] <= env.keys() else never
        case Range(variable):
            return (3, 1) if _mentions(part) - {variable.name} <= env.keys() else never
        case Constraint(op, one, other):
            late = 4 if can_fail(one) or can_fail(other) else 0
            free = _mentions(part) - env.keys()
            if not free:
                return late, 0
            for side, term in ((one, other), (other, one)):
                if op == "=" and isinstance(side, Variable) and free == {side.name}:
                    return (late, 1) if side.name not in names(term) else never
            return never
    raise AssertionError(part)


class PyEngine:
    """The engine interface, in Python. `log` has every instance that was considered, in order."""

    lasting = 0.0  # there are no indexes

    def __init__(self) -> None:
        self.log: list[Instance] = []
        self.kinds: dict[str, Relation] = {}
        self.explicit, self.all = self.none(), self.none()
        self.all.ages = {}  # those put in by other means are the oldest
        self.nonrecursive, self.recursive = PyCounter(), PyCounter()
        self._numbers: dict[tuple[type, Value], int] = {}

    @property
    def instances(self) -> int:
        return len(self.log)

    def declare(self, relation: Relation, aside: bool = False) -> None:
        assert len(relation.kinds) == len(relation.attributes)
        self.kinds[relation.name] = relation

    # Sets.

    def _new(self, facts: Iterable[Fact]) -> PySet:
        return PySet(facts)

    def none(self) -> PySet:
        return self._new(())

    def collect(self, view: View, relations: Sequence[str] | None = None) -> PySet:
        return self._new(f for f in extent(view) if relations is None or f[0] in relations)

    def some(self, view: View, count: int) -> PySet:
        return self._new(sorted(extent(view), key=repr)[:count])

    def sample(self, view: View, relation: str, count: int) -> PySet:
        return self._new(sorted((f for f in extent(view) if f[0] == relation), key=repr)[:count])

    def cut(self, facts: FactSet, count: int, relations: Sequence[str]) -> PySet:
        assert isinstance(facts, PySet)
        mine = sorted((fact for fact in facts.facts if fact[0] in relations), key=repr)
        facts.facts.difference_update(mine[:count])
        return self._new(mine[:count])

    @contextmanager
    def as_before(self, gone: FactSet, came: FactSet) -> Iterator[None]:
        back, off = _py(gone).facts, _py(came).facts
        self.all.facts = (self.all.facts | back) - off
        yield
        self.all.facts = (self.all.facts - back) | off

    def save(self, facts: FactSet) -> frozenset[Fact]:
        assert isinstance(facts, PySet)
        return frozenset(facts.facts)

    def odd(self, saved: Sequence[frozenset[Fact]]) -> PySet:
        return self._new(reduce(xor, saved, frozenset()))

    def joined(self, saved: Sequence[frozenset[Fact]]) -> frozenset[Fact]:
        found = frozenset[Fact]().union(*saved)
        assert len(found) == sum(map(len, saved))
        return found

    def sizes_of(self, saved: frozenset[Fact]) -> Mapping[str, int]:
        return Tally(name for name, _ in saved)

    def hold(self, saved: frozenset[Fact]) -> PySet:
        return self._new(saved)

    def relations(self, facts: FactSet) -> list[str]:
        return sorted({name for name, _ in _py(facts).facts})

    def size(self, relation: str) -> int:
        return len(self.collect(self.all, (relation,)))

    def settle(self, facts: FactSet) -> FactSet:
        return facts

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
    ) -> PySet:
        X, Y = Facts.of(within), Facts.of(negative or within)
        P, N = _py(touching).facts, None
        if touching_negated is not None:
            N = _py(touching_negated).facts
            assert not any(map(membership(negative or within), N))
        found = (i for rule in rules for i in instances(rule, X, Y) if _touches(i, P, N))
        return self._heads(found, guard, add_to, take_from)

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
        start = self.instances
        while N and each():
            if most is not None and self.instances - start > most:
                break
            for facts in into:
                facts |= N
            found = self.derive(
                rules,
                touching=N,
                within=within,
                guard=guard,
                negative=negative,
                add_to=add_to,
                take_from=take_from,
            )
            _py(N).facts = found.facts
            del found

    def apply(
        self,
        rules: Sequence[Rule],
        *,
        within: View,
        guard: View | None = None,
        negative: View | None = None,
        add_to: Counter | None = None,
        take_from: Counter | None = None,
    ) -> PySet:
        X, Y = Facts.of(within), Facts.of(negative or within)
        found = (i for rule in rules for i in instances(rule, X, Y))
        return self._heads(found, guard, add_to, take_from)

    def provable(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
        older: frozenset[str] | None = None,
    ) -> PySet:
        proved, age = self.none(), self.age
        for instance in self._deriving(rules, facts, within, negative):
            mine = (f for f in instance.body if older and f[0] in older)
            if any(age(f) >= age(instance.head) for f in mine):
                continue
            if instance.head not in proved.facts:
                self.log.append(instance)
                proved.facts.add(instance.head)
        return proved

    def age(self, fact: Fact) -> int:
        assert self.all.ages is not None
        return self.all.ages.get(fact, 0)

    def support(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
        among: Sequence[str] | None = None,
    ) -> PySet:
        found = self.none()
        for instance in self._deriving(rules, facts, within, negative):
            self.log.append(instance)
            found.facts |= {f for f in instance.body if among is None or f[0] in among}
        return found

    def _deriving(
        self, rules: Sequence[Rule], facts: FactSet, within: View, negative: View | None
    ) -> Iterator[Instance]:
        X, Y = Facts.of(within), Facts.of(negative or within)
        for name, row in sorted(_py(facts).facts, key=repr):
            for rule in rules:
                if rule.head.relation == name:
                    given = matched(rule.head.terms, row, {})
                    if given is not None:
                        yield from instances(rule, X, Y, given)

    def _heads(
        self,
        found: Iterable[Instance],
        guard: View | None,
        add_to: Counter | None,
        take_from: Counter | None,
    ) -> PySet:
        allowed = membership(guard) if guard is not None else None
        heads = set()
        for instance in found:
            self.log.append(instance)
            for counter, sign in ((add_to, 1), (take_from, -1)):
                if counter is not None:
                    assert isinstance(counter, PyCounter)
                    counter.numbers[instance.head] += sign
                    assert counter.numbers[instance.head] >= 0, instance
            if allowed is None or allowed(instance.head):
                heads.add(instance.head)
        return self._new(heads)

    def identify(self, kind: Kind, values: Sequence[Value]) -> Ids:
        convert = {"symbol": str, "float": float}.get(kind, int)
        return np.array([self._number(convert(value)) for value in values], dtype=np.uint32)

    def ids(self, view: View, relation: str) -> Ids:
        found = sorted((row for name, row in extent(view) if name == relation), key=repr)
        numbers = [[self._number(value) for value in row] for row in found]
        width = self.kinds[relation].arity
        return np.array(numbers, dtype=np.uint32).reshape(len(found), width)

    def _number(self, value: Value) -> int:
        return self._numbers.setdefault((type(value), value), len(self._numbers))

    def pick(self, relation: str, ids: Ids) -> PySet:
        values = [value for _, value in self._numbers]
        return self._new((relation, tuple(values[i] for i in row)) for row in ids.tolist())

    # Counters, ages, and facts set aside.

    own_evaluation = None
    proofs = None

    @property
    def ages(self) -> FactAges:
        return self

    def date(self, relations: Sequence[str]) -> None: ...

    def undate(self, relations: Sequence[str]) -> None: ...

    def worked(self, rule: Rule, seconds: float, facts: int) -> None: ...

    def positive(self, counter: Counter, facts: FactSet) -> PySet:
        assert isinstance(counter, PyCounter)
        return self._new(f for f in _py(facts).facts if counter.numbers[f] > 0)

    def reset(self, counter: Counter, relations: Sequence[str]) -> None:
        assert isinstance(counter, PyCounter)
        for fact in [f for f in counter.numbers if f[0] in relations]:
            del counter.numbers[fact]

    def take(self, relations: Sequence[str]) -> PyTaken:
        taken = PyTaken(frozenset(relations), set())
        taken.facts = {f for f in self.all.facts if f[0] in taken.relations}
        self.all.facts -= taken.facts
        self.all |= PySet(f for f in self.explicit.facts if f[0] in taken.relations)
        return taken

    def compare(self, taken: Taken) -> tuple[PySet, PySet]:
        assert isinstance(taken, PyTaken)
        now = {f for f in self.all.facts if f[0] in taken.relations}
        return self._new(taken.facts - now), self._new(now - taken.facts)


def _py(facts: FactSet) -> PySet:
    assert isinstance(facts, PySet)
    return facts


def _touches(instance: Instance, P: set[Fact], N: set[Fact] | None) -> bool:
    if any(fact in P for fact in instance.body):
        return True
    if N is None:
        return False
    env = dict(instance.values)
    for part in instance.rule.body:
        match part:
            case Literal(relation, terms, True):
                if (relation, tuple(value(t, env) for t in terms)) in N:
                    return True
            case Group(_, _, _, relation, terms):
                key = {name: env[name] for name in _key(instance.rule, part)}
                touched = (f for f in P | N if f[0] == relation)
                if any(matched(terms, row, key) is not None for _, row in touched):
                    return True
    return False

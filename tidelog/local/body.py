"""What the planner is given: a rule's body in parts, what a plan is for, and the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal as Choice
from typing import NamedTuple

import numpy as np

from tidelog.local.dictionary import Dictionary
from tidelog.local.row_store import RowStore
from tidelog.local.string_functors import ALSO_IN_KERNEL, FUNCTORS
from tidelog.program import builtin_functors
from tidelog.program.builtin_functors import BUILTINS, is_declared
from tidelog.program.formula_walk import variables
from tidelog.program.kind_masks import bit
from tidelog.program.rules import (
    Constraint,
    Expression,
    Group,
    Literal,
    Range,
    Rule,
    Simple,
)
from tidelog.program.syntax import Call, Cast, Constant, Kind, Variable, Wildcard
from tidelog.program.terms import is_constructor

SAMPLE = 1024  # rows that an estimate looks at
# Where these are: not at equal distances, which would miss what rows next to each other share.
_ANYWHERE = np.random.default_rng(1).random(SAMPLE)
# "change" is "delta" where negated literals and aggregates may meet the change as well.
# "search" is "support" by single instances.
Mode = Choice["apply", "delta", "change", "prove", "support", "search"]


@dataclass(frozen=True, slots=True)
class Outside:
    """`result = functor(args)`, computed by Python in batches and kept in a relation."""

    functor: str
    args: tuple[Simple, ...]
    result: Variable
    signature: tuple[Kind, ...]  # kinds of the arguments, then of the result

    @property
    def relation(self) -> str:
        return f"%{self.functor}({','.join(self.signature)})"

    @property
    def requests(self) -> str:
        return self.relation + "?"

    @property
    def literal(self) -> Literal:
        return Literal(self.relation, (*self.args, self.result))


Part = Literal | Constraint | Range | Group | Outside


@dataclass(frozen=True, slots=True)
class RuleShape:
    """A rule with its relations numbered in the order in which they occur."""

    key: tuple[object, ...]
    relations: tuple[tuple[str, int], ...]  # name and arity

    @classmethod
    def of(cls, head: Literal, parts: Iterable[Part]) -> RuleShape | None:
        """None if there are other parts than positive literals."""
        relations: dict[tuple[str, int], int] = {}
        names: dict[str, int] = {}
        key: list[object] = []
        for part in (head, *parts):
            if not isinstance(part, Literal) or part.negated:
                return None
            about = part.relation, len(part.terms)
            terms = tuple(_spelled(term, names) for term in part.terms)
            key.append((relations.setdefault(about, len(relations)), terms))
        return cls(tuple(key), tuple(relations))


def _spelled(term: Simple, names: dict[str, int]) -> object:
    if isinstance(term, Variable):
        return names.setdefault(term.name, len(names))
    return term


@dataclass(frozen=True, slots=True)
class Prepared:
    """A rule whose string functors stand as literals of their own.

    `changed` is for rules with aggregates when a change of lower relations is followed: a
    literal before each aggregate ranges over the keys of the groups that the change touches,
    which the rule given here for its place collects.
    """

    rule: Rule
    parts: tuple[Part, ...]
    outside: tuple[Outside, ...]
    changed: dict[int, Rule] = field(default_factory=dict)
    shape: RuleShape | None = None

    def around(self, delta: int) -> Prepared:
        """For instances that meet the change at this place and at none before it."""
        if not self.changed:
            return self
        parts = [
            replace(part, negated=True) if i in self.changed and i < delta else part  # type: ignore[arg-type]
            for i, part in enumerate(self.parts)
            if i not in self.changed or i <= delta
        ]
        return replace(self, parts=tuple(parts))


class Use(NamedTuple):
    """What a plan is for. In modes "delta" and "change", part number `delta` ranges over it.

    `exact` enumerates every instance, also those that differ only in columns that nobody
    reads; else one of them is enough. `among` names the relations whose facts are support, or
    those whose facts must be older than the head that they prove.
    """

    mode: Mode
    delta: int = -1
    exact: bool = False
    among: frozenset[str] | None = None

    @property
    def follows(self) -> bool:
        """Does it follow a change?"""
        return self.mode in ("delta", "change")

    @property
    def of_heads(self) -> bool:
        """Are heads given?"""
        return self.mode in ("prove", "support", "search")


@dataclass(slots=True)
class Catalog:
    """What the planner must know of the engine."""

    store: RowStore
    dictionary: Dictionary
    relation: Callable[[str, int], int]  # name and arity to number
    index: Callable[[int, tuple[int, ...]], int]  # a relation's index on some columns
    _fanouts: dict[tuple[int, tuple[int, ...]], tuple[int, float]] = field(default_factory=dict)

    def number(self, literal: Literal | Group) -> int:
        return self.relation(literal.relation, len(literal.terms))

    def fanout(self, r: int, key: tuple[int, ...]) -> float:
        """How many facts share these columns with a fact, on average; from a sample.

        Columns with a few popular values thus count as the popular ones do, which is what
        a join mostly meets.
        """
        n = self.store.size(r)
        known = self._fanouts.get((r, key))
        if known is not None and known[0] == n.bit_length():
            return known[1]
        rows = self.store.rows(r)
        if n > 2 * SAMPLE:
            rows = rows[np.unique((_ANYWHERE * n).astype(np.int64))]
        estimate = 1.0
        if len(rows) > 1:
            counts = np.unique(rows[:, key], axis=0, return_counts=True)[1].astype(np.float64)
            pairs = len(rows) * (len(rows) - 1.0)
            estimate = 1.0 + (n - 1) * float((counts * (counts - 1)).sum()) / pairs
        self._fanouts[r, key] = (n.bit_length(), estimate)
        return estimate


def is_outside(call: Call) -> bool:
    """Must Python compute it? It works on text, or is a user's function."""
    if call.functor in ALSO_IN_KERNEL:
        return "symbol" in {arg.kind for arg in call.args}
    return call.functor in FUNCTORS or call.functor == "autoinc" or is_declared(call.functor)


def prepare(rule: Rule) -> Prepared:
    """Take string functors out of expressions: `p(cat(x, "a"))` reads a relation of results."""
    parts: list[Part] = []
    outside: list[Outside] = []
    fresh = 0

    def new(kind: Kind | None) -> Variable:
        nonlocal fresh
        fresh += 1
        return Variable(f"%%{fresh}", kind=kind)

    def simple(term: Expression) -> Variable | Constant:
        term = lift(term)
        if isinstance(term, Variable | Constant):
            return term
        variable = new(term.kind)
        parts.append(Constraint("=", variable, term))
        return variable

    def lift(term: Expression) -> Expression:
        if isinstance(term, Cast):
            return replace(term, term=lift(term.term))  # type: ignore[arg-type]
        if not isinstance(term, Call):
            return term
        if not is_outside(term):
            return replace(term, args=tuple(lift(arg) for arg in term.args))  # type: ignore[arg-type]
        args = tuple(simple(arg) for arg in term.args)  # type: ignore[arg-type]
        result = new(term.kind)
        kinds = tuple(kind for arg in (*args, result) if (kind := arg.kind))
        call = Outside(term.functor, args, result, kinds)
        outside.append(call)
        parts.append(call)
        return result

    for part in rule.body:
        if isinstance(part, Constraint) and part.op.lstrip("!") in ("match", "contains"):
            test = Call(part.op.lstrip("!"), (part.left, part.right), kind="number")
            holds = Constant(0 if part.op.startswith("!") else 1, "number")
            parts.append(Constraint("=", lift(test), holds, part.at))
        elif isinstance(part, Constraint):
            parts.append(replace(part, left=lift(part.left), right=lift(part.right)))
        elif isinstance(part, Range):
            step = part.step
            start, stop = simple(part.start), simple(part.stop)
            if step is None:
                step = Call("%step", (start, stop), kind=part.variable.kind)
            parts.append(replace(part, start=start, stop=stop, step=simple(step)))
        elif isinstance(part, Literal):
            terms = (new(t.kind) if isinstance(t, Wildcard) else t for t in part.terms)
            parts.append(replace(part, terms=tuple(terms)))
        else:
            parts.append(part)
    shape = RuleShape.of(rule.head, parts)
    return Prepared(rule, tuple(parts), tuple(outside), shape=shape)


def with_keys(prepared: Prepared) -> Prepared:
    """The rule with a literal for the changed keys before each aggregate."""
    if not any(isinstance(part, Group) for part in prepared.parts):
        return prepared
    everywhere = occurrences(prepared)
    parts: list[Part] = []
    changed: dict[int, Rule] = {}
    for part in prepared.parts:
        if isinstance(part, Group):
            rule = _keys_of(part, everywhere)
            changed[len(parts)] = rule
            parts.append(rule.head)
        parts.append(part)
    return replace(prepared, parts=tuple(parts), changed=changed)


def _keys_of(group: Group, everywhere: dict[str, int]) -> Rule:
    """The rule from facts of the group's relation to keys of groups, named by its content."""
    names: dict[str, str] = {}
    keys: dict[str, Variable] = {}
    spelled = []
    for term in group.terms:
        if isinstance(term, Variable):
            if everywhere[term.name] > 1:
                keys.setdefault(term.name, term)
            spelled.append(names.setdefault(term.name, f"{'vk'[term.name in keys]}{len(names)}"))
        else:
            spelled.append(f"{term.kind} {term.value!r}" if isinstance(term, Constant) else "_")
    head = Literal(f"%changed:{group.relation}({','.join(spelled)})", tuple(keys.values()))
    body = Literal(group.relation, group.terms)
    return Rule(head, (body,), f"keys of {group.relation}", group.at)


def occurrences(prepared: Prepared) -> dict[str, int]:
    """In how many parts (the head is one) each variable occurs."""
    count: dict[str, int] = {}
    for part in (prepared.rule.head, *prepared.parts):
        for name in mentions(part):
            count[name] = count.get(name, 0) + 1
    return count


def can_fail(term: Expression) -> bool:
    if isinstance(term, Call):
        builtin, kind = BUILTINS.get(term.functor), term.args[0].kind if term.args else None
        if builtin and kind and builtin.fails_on & bit(kind):
            return True
        return any(can_fail(arg) for arg in term.args)  # type: ignore[arg-type]
    return isinstance(term, Cast) and can_fail(term.term)  # type: ignore[arg-type]


def may_fail(part: Part) -> bool:
    if isinstance(part, Constraint):
        return can_fail(part.left) or can_fail(part.right)
    return isinstance(part, Outside) and builtin_functors.can_fail(part.functor)


def needs(part: Part) -> set[str]:
    """Variables that must be bound before the part can run."""
    if isinstance(part, Literal):
        return mentions(part) if part.negated else set()
    terms: Iterable[Expression | Simple | None] = ()
    if isinstance(part, Outside):
        terms = part.args
    elif isinstance(part, Range):
        terms = part.start, part.stop, part.step
    elif isinstance(part, Constraint):
        terms = part.left, part.right
    return {v.name for term in terms if term is not None for v in variables(term)}


def mentions(part: Part) -> set[str]:
    if isinstance(part, Literal):
        return {t.name for t in part.terms if isinstance(t, Variable)}
    terms: Iterable[Simple] = ()
    if isinstance(part, Group):
        terms = *part.terms, part.result
    elif isinstance(part, Outside):
        terms = (part.result,)
    elif isinstance(part, Range):
        terms = (part.variable,)
    return needs(part) | {t.name for t in terms if isinstance(t, Variable)}


def takes_apart(part: Constraint, bound: set[str]) -> tuple[Variable, Call] | None:
    """A value that is bound and the record or branch that it must be, whose fields that binds."""
    if part.op != "=" or not isinstance(part.right, Call) or not is_constructor(part.right.functor):
        return None
    assert isinstance(part.left, Variable), "desugaring leaves a variable there"
    return (part.left, part.right) if part.left.name in bound else None


def binds(part: Constraint, bound: set[str]) -> Variable | None:
    """The variable that an equality would bind now."""
    if part.op != "=":
        return None
    for side, other in ((part.left, part.right), (part.right, part.left)):
        free = isinstance(side, Variable) and side.name not in bound
        if free and all(v.name in bound for v in variables(other)):
            return side  # type: ignore[return-value]
    return None

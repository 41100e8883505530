"""Naive evaluation of a typed program: the slow oracle for testing engines.

It shares no code with the engines, with `plan.desugar` or with `plan.strata`. It applies all rules
of a stratum to all facts until no new facts are derived.

Details of the semantics:
  - An expression that can fail (a division, `to_number`, …) is evaluated as late as possible, so
    `z = x / y, y != 0` is not an error in any order.
  - Ranges and aggregates move from their literal to an equation `v = …` beside it, negated or
    not: `!p(min x : { q(x) })` means `!p(v), v = min x : { q(x) }`, and fails if q is empty.
  - A variable that occurs outside a `min` or `max` but is bound only in its body is a witness:
    the aggregate ranges over all its values, and returns those of the minimum or maximum.
  - -0.0 is 0.0, and there is one NaN, equal to itself in facts and under `=`.
  - `ord` numbers symbols from 0 in order of occurrence; any other injective numbering is correct.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tidelog.oracle.clause_bodies import (
    Body,
    FlatLiteral,
    Fold,
    Rule,
    bodies_of,
    closure,
    has_autoinc,
    has_gap,
    is_pattern,
    names_in,
    number_instances,
    walk,
)
from tidelog.oracle.subsumption import (
    Reduction,
    apply_choice,
    apply_subsumption,
    reductions,
    require_complete,
)
from tidelog.oracle.values import apply, as_kind, as_row, cast, each, folded, holds, same
from tidelog.program.diagnostics import DataError, EvaluationError, LimitError
from tidelog.program.syntax import (
    KINDS,
    UNDER,
    Aggregate,
    Atom,
    Call,
    Cast,
    Comparison,
    Constant,
    Kind,
    Program,
    Term,
    Value,
    Variable,
    Wildcard,
)
from tidelog.program.terms import Branch, Field, TermKind, order_key
from tidelog.text.writer import value_text

Row = tuple[Value, ...]
Rows = Mapping[str, Iterable[Row]]
Env = dict[str, Value]
Functions = Mapping[str, Callable[..., Any]]  # by name, `@` included
NO_FACTS: Rows = MappingProxyType({})
NO_FUNCTIONS: Functions = MappingProxyType({})


def evaluate(
    typed: Program,
    facts: Rows = NO_FACTS,
    max_facts: int | None = None,
    functors: Functions = NO_FUNCTIONS,
) -> dict[str, set[Row]]:
    """The materialisation, by relation; `functors` are the functions of `@name`."""
    kinds = column_kinds(typed)
    I: dict[str, set[Row]] = {name: set() for name in kinds}
    own = ((fact.relation, fact.values) for fact in typed.facts)
    more = ((name, row) for name, rows in facts.items() for row in rows)
    for name, row in itertools.chain(own, more):
        if name not in kinds or len(kinds[name]) != len(row):
            raise DataError(f"the program has no relation {name} with {len(row)} columns")
        I[name].add(as_row(row, kinds[name]))
    try:
        known = dict[str, int](), functors, dict[Row, int]()  # shared by all steps
        closures = [clause for r in typed.relations for clause in closure(r.name, r.qualifiers)]
        rules = [
            (head.relation, body)
            for clause in (*map(number_instances, typed.clauses), *closures)
            for head in clause.heads
            for body in bodies_of(clause.body, head.terms)
        ]
        orders = [
            (clause.heads[0].relation, body)
            for clause in typed.subsumptions
            for body in bodies_of(clause.body, clause.heads[0].terms)
        ]
        reduced = reductions(typed)
        for names, stratum in _strata(rules, list(kinds), orders, reduced):
            room = math.inf if max_facts is None else max_facts - sum(map(len, I.values()))
            some = {name: reduced[name] for name in names if name in reduced}
            first = {(name, row) for name in some for row in I[name]}
            I.update({name: set() for name in some})
            _insert(I, first, some, orders, known)
            while N := Application(I, *known).derive(stratum, room):
                before = {name: I[name] for name in some}
                _insert(I, N, some, orders, known)
                room -= len(N)
                if all(name in some for name, _ in N) and before == {n: I[n] for n in some}:
                    break
    except RecursionError:
        raise LimitError("the program nests too deeply for naive evaluation") from None
    return I


def _insert(
    I: dict[str, set[Row]],
    N: set[tuple[str, Row]],
    reduced: Mapping[str, Reduction],
    orders: list[Rule],
    known: Any,
) -> None:
    """Insert N into I, except the facts that subsumption and choice drop from reduced relations."""
    for name, kind in reduced.items():
        candidates = {row for head, row in N if head == name}
        I[name] = (
            apply_choice(I[name], candidates, kind.domains)
            if kind.domains
            else I[name] | candidates
        )
    for name, row in N:
        if name not in reduced:
            I[name].add(row)
    for name in [name for name, kind in reduced.items() if kind.ordered]:
        mine = [(head, body) for head, body in orders if head == f"{UNDER}{name}"]
        pairs = Application({**I, f"{UNDER}{name}": set()}, *known)
        I[name] = apply_subsumption(I[name], {row for _, row in pairs.derive(mine, math.inf)})


def check(
    typed: Program,
    facts: Rows,
    found: Rows,
    max_facts: int | None = None,
    functors: Functions = NO_FUNCTIONS,
) -> list[str]:
    """The changes that would correct `found`, such as `+path(1, 2).`; empty if it is correct."""
    expected = evaluate(typed, facts, max_facts, functors)
    changes = []
    for name, kinds in column_kinds(typed).items():
        rows = {as_row(row, kinds) for row in found.get(name, expected[name])}
        for sign, difference in (("-", rows - expected[name]), ("+", expected[name] - rows)):
            for row in sorted(difference, key=order_key):
                terms = (value_text(value, kind) for value, kind in zip(row, kinds, strict=True))
                changes.append(f"{sign}{name}({', '.join(terms)}).")
    return changes


def column_kinds(typed: Program) -> dict[str, tuple[Kind, ...]]:
    """The types of each relation's columns, with declared types resolved."""
    of = {declared.name: declared.of[0] for declared in typed.types if declared.of}
    terms = {d.name: TermKind.named(d.name, d.form == "record", 0) for d in typed.types if not d.of}

    def kind(name: str) -> Kind:
        if name in of:
            return kind(of[name])
        if name in terms:
            return terms[name]
        return next(kind for kind in KINDS if kind == name)

    for declared in typed.types:
        for branch in declared.branches:
            fields = tuple(Field(f.name, kind(f.type_name)) for f in branch.fields)
            terms[declared.name].constructors[branch.name] = fields

    return {r.name: tuple(kind(a.type_name) for a in r.attributes) for r in typed.relations}


def _strata(
    rules: list[Rule], names: Iterable[str], orders: list[Rule], reduced: Mapping[str, Reduction]
) -> Iterator[tuple[list[str], list[Rule]]]:
    """Relations and rules by level.

    Relations that a rule negates or aggregates, and those that decide which facts subsumption
    drops, are on a lower level than its head.
    """
    reads = {
        (head, atom.relation, atom is not formula or not wanted)
        for head, body in rules
        for formula, wanted, _ in body.literals
        for atom in walk(formula)
        if isinstance(atom, Atom)
    }
    reads |= {
        (head.removeprefix(UNDER), atom.relation, True)
        for head, body in orders
        for formula, _, _ in body.literals
        for atom in walk(formula)
        if isinstance(atom, Atom) and atom.relation != head.removeprefix(UNDER)
    }
    reads = require_complete(reads, reduced) if reduced else reads
    level, before = dict.fromkeys(names, 0), None
    while level != before:
        before = dict(level)
        for head, read, strictly in reads:
            level[head] = max(level[head], level[read] + strictly)
        if max(level.values(), default=0) > len(level):
            raise EvaluationError("a relation depends on its own negation")
    for i in sorted(set(level.values())):
        here = [name for name in level if level[name] == i]
        yield here, [rule for rule in rules if level[rule[0]] == i]


def _matching(terms: Sequence[Term], rows: Iterable[Row], env: Env) -> Iterator[Env]:
    """The environment, extended by each row that agrees with it."""
    names = [(i, term.name) for i, term in enumerate(terms) if isinstance(term, Variable)]
    patterns = [(i, term) for i, term in enumerate(terms) if is_pattern(term)]
    for row in rows:
        extended = dict(env)
        if all(same(extended.setdefault(name, row[i]), row[i]) for i, name in names) and all(
            _unify(term, row[i], extended) for i, term in patterns
        ):
            yield extended


def _unify(term: Term, value: Any, env: Env) -> bool:
    """Whether the value is an instance of the term; binds unbound variables."""
    match term:
        case Variable(name):
            return same(env.setdefault(name, value), value)
        case Constant(constant, kind):
            return same(as_kind(constant, kind), value)
        case Wildcard():
            return True
        case Call("[]", args):
            found = value
        case Call(functor, args):
            found = value.values if functor == f"${value.name}" else None
        case _:
            raise EvaluationError("a pattern may only contain variables, constants and patterns")
    if found is None:
        return False
    return all(_unify(arg, part, env) for arg, part in zip(args, found, strict=True))


MATCHES = 1000  # of a part of a body, for each fact that there may be


class Application:
    """One application of rules to the facts I."""

    def __init__(
        self,
        I: dict[str, set[Row]],
        symbols: dict[str, int],
        functors: Functions,
        numbers: dict[Row, int],
    ) -> None:
        self.I = I
        self.numbers = numbers  # assigned by `autoinc()`
        self.functors = functors
        self.symbols = symbols
        self.folds: dict[tuple[Any, ...], set[Row]] = {}
        self.indexes: dict[tuple[Any, ...], dict[Row, list[Row]]] = {}

    def derive(self, rules: Iterable[Rule], room: float) -> set[tuple[str, Row]]:
        N: set[tuple[str, Row]] = set()
        for head, body in rules:
            envs: Iterable[Env] = [{}]
            for i, literal in enumerate(body.literals):
                later = body.later(i)
                found = (new for env in envs for new in self.satisfy(literal, env))
                distinct = set()
                for env in found:
                    distinct.add(tuple((k, v) for k, v in env.items() if k in later))
                    if len(distinct) > MATCHES * room:  # a range may hardly end
                        raise LimitError(f"{head} exceeds the limit on facts")
                # autoinc() numbers instances in the order of their values.
                numbers = has_autoinc(*(l.formula for l in body.literals[i + 1 :]), *body.terms)
                envs = map(dict, sorted(distinct, key=sorted) if numbers else distinct)
            for env in envs:
                row = tuple(self.value(term, env) for term in body.terms)
                if row not in self.I[head]:
                    N.add((head, row))
                if len(N) > room:
                    raise LimitError(f"{head} exceeds the limit on facts")
        return N

    def solve(self, body: Body, env: Env) -> list[Env]:
        """All extensions of the environment that satisfy all literals."""
        envs = [env]
        for literal in body.literals:
            envs = [extended for env in envs for extended in self.satisfy(literal, env)]
        return envs

    def satisfy(self, literal: FlatLiteral, env: Env) -> Iterable[Env]:
        match literal.formula:
            case Atom(name, terms):
                found = _matching(terms, self.known(name, terms, env), env)
                return found if literal.wanted else [] if any(True for _ in found) else [env]
            case Comparison(_, x, Call("range", args)):
                values = each(*(self.value(arg, env) for arg in args))
                return _matching((x,), ((value,) for value in values), env)
            case Comparison(_, x, Aggregate() as term) if literal.fold:
                variables = x, *map(Variable, sorted(literal.fold.witnesses))
                return _matching(variables, self.fold(literal.fold, term, env), env)
            case Comparison("=", left, right) if is_pattern(left) or is_pattern(right):
                return self.unified(left, right, env)
            case Comparison(_, Variable(x), term) if x not in env:
                return [{**env, x: self.value(term, env)}]
            case Comparison(_, term, Variable(x)) if x not in env:
                return [{**env, x: self.value(term, env)}]
            case Comparison(op, left, right):
                true = holds(op, self.value(left, env), self.value(right, env))
                return [env] if true == literal.wanted else []

    def unified(self, left: Term, right: Term, env: Env) -> Iterable[Env]:
        """The extension of the environment that makes both sides equal, if there is one."""
        if names_in(left) <= env.keys() and not has_gap(left):
            left, right = right, left
        if names_in(right) <= env.keys() and not has_gap(right):
            extended = dict(env)
            return [extended] if _unify(left, self.value(right, env), extended) else []
        if left.functor != right.functor:  # type: ignore[union-attr]
            return []
        envs: Iterable[Env] = [env]
        for pair in zip(left.args, right.args, strict=True):  # type: ignore[union-attr]
            envs = [new for each in envs for new in self.unified(*pair, each)]
        return envs

    def known(self, name: str, terms: Sequence[Term], env: Env) -> Iterable[Row]:
        """Facts of the relation that agree with the bound terms."""
        known = (isinstance(t, Constant) or getattr(t, "name", None) in env for t in terms)
        columns = [i for i, is_known in enumerate(known) if is_known]
        if (name, *columns) not in self.indexes:
            index = self.indexes[name, *columns] = defaultdict(list)
            for row in self.I[name]:
                index[tuple(row[i] for i in columns)].append(row)
        key = tuple(self.value(terms[i], env) for i in columns)
        return self.indexes[name, *columns].get(key, ())

    def fold(self, fold: Fold, term: Aggregate, env: Env) -> set[Row]:
        """The results of an aggregate over all distinct assignments, with their witnesses."""
        outer = {name: env[name] for name in sorted(fold.outer)}
        key = id(fold), *outer.values()
        if key not in self.folds:
            found = self.assignments(fold, env)
            result = folded(term.op, [value for value, _ in found], term.kind)
            if result is None or fold.witnesses:
                self.folds[key] = {(v, *w) for v, w in found if same(v, result)}
            else:
                self.folds[key] = {(result,)}
        return self.folds[key]

    def assignments(self, fold: Fold, env: Env) -> list[tuple[Value, Row]]:
        """What an aggregate folds: a value and its witnesses for each distinct assignment."""
        outer = {name: env[name] for name in fold.outer}
        found: dict[frozenset[Any], tuple[Value, Row]] = {}
        for body in fold.bodies:
            for s in self.solve(body, outer):
                witness = tuple(s[name] for name in sorted(fold.witnesses))
                assignment = frozenset(item for item in s.items() if item[0][0] != "=")
                found[assignment] = self.value(body.terms[0], s), witness
        return list(found.values())

    def value(self, term: Term, env: Env) -> Value:
        match term:
            case Variable(name):
                return env[name]
            case Constant(value, kind):
                return as_kind(value, kind)
            case Cast(inner) | Call("ord", (inner,)):
                return cast(self.value(inner, env), inner.kind, term.kind, self.symbols)
            case Call(functor, args):
                values = [self.value(arg, env) for arg in args]
                if functor == "autoinc":
                    return self.numbers.setdefault(tuple(values), len(self.numbers))
                if functor.startswith("@"):
                    return as_kind(self.functors[functor](*values), term.kind)
                if functor[0] in "[$":
                    return tuple(values) if functor == "[]" else Branch(functor[1:], tuple(values))
                return as_kind(apply(functor, values, args[0].kind, term.kind), term.kind)
        raise EvaluationError("`_` has no value")

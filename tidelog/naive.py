"""Naive evaluation of a typed program: the slow oracle that every engine is held against.

It shares no code with the engines, with `plan.desugar` or with `plan.strata`. All clauses
of a stratum are applied to all facts, again and again, until nothing new follows.

Where a careful reader would ask:
  - An expression that can go wrong (a division, `to_number`, …) is evaluated after all
    other literals that can be, so `z = x / y, y != 0` is no error in any order.
  - A term may have several values (`range`) or none (`min` of nothing). A literal holds if
    it does for some of them, negated or not: `!p(min x : { q(x) })` fails if q is empty.
  - A variable that only the body of a `min` or `max` binds, though it stands outside too, is
    a witness: it is local to the aggregate, whose body then follows with the result for its
    target. The variables of that body that stand nowhere else are renamed.
  - -0.0 is 0.0, and there is one NaN, equal to itself in facts and under `=`.
  - A sum of floats is the exact sum rounded once, so it depends on no order.
  - `ord` numbers symbols from 0 in the order in which it meets them: any other numbering
    that gives different symbols different numbers is as good.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from tidelog.naive_values import CAN_FAIL, apply, as_kind, as_row, each, extreme, holds, same, total
from tidelog.program.diagnostics import DataError, EvaluationError, LimitError
from tidelog.program.syntax import (
    KINDS,
    Aggregate,
    And,
    Atom,
    Call,
    Cast,
    Clause,
    Comparison,
    Constant,
    Formula,
    Kind,
    Not,
    Or,
    Program,
    Term,
    Truth,
    Value,
    Variable,
    Wildcard,
)
from tidelog.text.write import value_text

Row = tuple[Value, ...]
Rows = Mapping[str, Iterable[Row]]
Env = dict[str, Value]
NO_FACTS: Rows = MappingProxyType({})


def evaluate(
    typed: Program, facts: Rows = NO_FACTS, max_facts: int | None = None
) -> dict[str, set[Row]]:
    """All facts that follow, by relation."""
    try:
        return _evaluate(typed, facts, math.inf if max_facts is None else max_facts)
    except RecursionError:
        raise LimitError("the program nests too deeply for naive evaluation") from None


def check(typed: Program, facts: Rows, found: Rows, max_facts: int | None = None) -> list[str]:
    """The changes that would put `found` right, such as `+path(1, 2).`; none if it is."""
    right = evaluate(typed, facts, max_facts)
    changes = []
    for name, kinds in column_kinds(typed).items():
        rows = {as_row(row, kinds) for row in found.get(name, right[name])}
        for sign, difference in (("-", rows - right[name]), ("+", right[name] - rows)):
            for row in sorted(difference):
                terms = (value_text(value, kind) for value, kind in zip(row, kinds, strict=True))
                changes.append(f"{sign}{name}({', '.join(terms)}).")
    return changes


def column_kinds(typed: Program) -> dict[str, tuple[Kind, ...]]:
    """The kinds of each relation's columns, with the program's own types resolved."""
    of = {declared.name: declared.of[0] for declared in typed.types}

    def kind(name: str) -> Kind:
        return kind(of[name]) if name in of else next(kind for kind in KINDS if kind == name)

    return {r.name: tuple(kind(a.type_name) for a in r.attributes) for r in typed.relations}


def _evaluate(typed: Program, facts: Rows, max_facts: float) -> dict[str, set[Row]]:
    kinds = column_kinds(typed)
    state = _State({name: set() for name in kinds})
    given = ((fact.relation, fact.values) for fact in typed.facts)
    more = ((name, row) for name, rows in facts.items() for row in rows)
    for name, row in itertools.chain(given, more):
        if name not in kinds or len(kinds[name]) != len(row):
            raise DataError(f"the program has no relation {name} with {len(row)} columns")
        state.rows[name].add(as_row(row, kinds[name]))

    closures = (clause for r in typed.relations for clause in _closure(r.name, r.qualifiers))
    rules = [
        _rule(witnessed, _ordered(more, _names(witnessed), frozenset()))
        for clause in (*typed.clauses, *closures)
        for head in clause.heads
        for literals in _alternatives(clause.body)
        for witnessed, more in _with_witnesses(head, literals)
    ]
    for stratum in _strata(rules, list(kinds)):
        while N := state.derive(stratum, max_facts - sum(map(len, state.rows.values()))):
            state.add(N)
    return state.rows


def _closure(name: str, qualifiers: frozenset[str]) -> Iterator[Clause]:
    """What `eqrel` and `transitive` mean, as clauses."""
    x, y, z = Variable("x"), Variable("y"), Variable("z")
    if qualifiers & {"eqrel", "transitive"}:
        yield Clause((Atom(name, (x, z)),), And((Atom(name, (x, y)), Atom(name, (y, z)))))
    if "eqrel" in qualifiers:
        heads = Atom(name, (x, x)), Atom(name, (y, y)), Atom(name, (y, x))
        yield Clause(heads, Atom(name, (x, y)))


# A clause becomes rules with one head each and a conjunction of literals in a fit order.

_Literal = tuple[Atom | Comparison, bool]  # with False if negated


class _Rule(NamedTuple):
    head: Atom
    body: list[_Literal]
    kept: list[list[str]]  # for each literal of the body the variables that matter after it


def _rule(head: Atom, body: list[_Literal]) -> _Rule:
    bound, kept = frozenset[str](), []
    for i, (formula, _) in enumerate(body):
        bound |= _names(formula)
        later = _mentions(head).union(*(_mentions(other) for other, _ in body[i + 1 :]))
        kept.append(sorted(bound & later))
    return _Rule(head, body, kept)


_INVERSE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_counter = itertools.count()


def _fresh(prefix: str, kind: Kind | None) -> Variable:
    """A variable that no program can spell; `=` marks one that others determine."""
    return Variable(f"{prefix}{next(_counter)}", kind=kind)


def _alternatives(formula: Formula, wanted: bool = True) -> list[list[_Literal]]:
    """The formula, negated unless `wanted`, as a disjunction of conjunctions.

    Atoms keep variables and constants; a negated one keeps `_`, for 'there is none'.
    """
    match formula:
        case Not(part):
            return _alternatives(part, not wanted)
        case Truth(value):
            return [[]] if value == wanted else []
        case And(parts) | Or(parts):
            choices = [_alternatives(part, wanted) for part in parts]
            if isinstance(formula, And) != wanted:
                return [literals for choice in choices for literals in choice]
            return [list(itertools.chain(*choice)) for choice in itertools.product(*choices)]
        case Comparison(op, left, right):
            if not wanted and op in _INVERSE:
                return [[(Comparison(_INVERSE[op], left, right), True)]]
            return [[(formula, wanted)]]
        case Atom(name, terms):
            simple, literals = list(terms), list[_Literal]()
            for i, term in enumerate(terms):
                if isinstance(term, Wildcard) and wanted:
                    simple[i] = _fresh("_", term.kind)
                elif isinstance(term, Call | Cast | Aggregate):
                    simple[i] = _fresh("_" if _multiple(term) else "=", term.kind)
                    literals.append((Comparison("=", simple[i], term), True))
            return [[(Atom(name, tuple(simple)), wanted), *literals]]


def _with_witnesses(head: Atom, literals: list[_Literal]) -> Iterator[tuple[Atom, list[_Literal]]]:
    """The rule, or the rules, in which every variable is bound outside of aggregates."""
    formulas = [head, *(formula for formula, _ in literals)]
    outside = frozenset[str]().union(*map(_names, formulas))
    unbound = outside - _grounded(literals)
    if not unbound:
        yield head, literals
        return
    bodies: list[list[list[_Literal]]] = [[[]]]

    def separated(node: Any) -> Any:
        if not isinstance(node, Aggregate):
            return _rebuilt(node, separated)
        target, inner = node.target, _names(node.body) - _names(node.target)
        witnesses = inner & unbound if node.op in ("min", "max") else frozenset()
        if not witnesses:
            return node
        result = _fresh("=", node.kind)
        alone = {name: _fresh("_", None).name for name in witnesses}
        again = {name: _fresh("_", None).name for name in inner - outside | _names(target)}
        bodies[0] = [
            [*known, (Comparison("=", result, _renamed(node, alone)), True)] for known in bodies[0]
        ]
        equal = Comparison("=", _renamed(target, again), result)
        bodies.append(
            [[*body, (equal, True)] for body in _alternatives(_renamed(node.body, again))]
        )
        return result

    head, *rest = [separated(formula) for formula in formulas]
    signs = [wanted for _, wanted in literals]
    for choice in itertools.product(*bodies):
        yield head, [*zip(rest, signs, strict=True), *itertools.chain(*choice)]


def _grounded(literals: Sequence[_Literal]) -> frozenset[str]:
    """Variables that have a value whatever the aggregates do; these always have one."""
    known: frozenset[str] = frozenset()
    before = None
    while known != before:
        before = known
        for formula, wanted in literals:
            if isinstance(formula, Atom) and wanted:
                known |= _names(formula)
            elif isinstance(formula, Comparison) and formula.op == "=":
                for a, b in ((formula.left, formula.right), (formula.right, formula.left)):
                    if isinstance(a, Variable) and _names(b) <= known:
                        known |= {a.name}
    return known


def _renamed(node: Any, new: Mapping[str, str]) -> Any:
    if isinstance(node, Variable):
        return replace(node, name=new.get(node.name, node.name))
    return _rebuilt(node, lambda part: _renamed(part, new))


def _rebuilt(node: Any, change: Callable[[Any], Any]) -> Any:
    """The node with its parts changed."""
    if type(node) is tuple:
        return tuple(map(change, node))
    if not is_dataclass(node) or isinstance(node, type):
        return node
    return replace(node, **{f.name: change(getattr(node, f.name)) for f in fields(node)})


def _ordered(
    literals: Sequence[_Literal], scope: frozenset[str], bound: frozenset[str]
) -> list[_Literal]:
    """Tests as soon as they can be, then facts; last what can go wrong.

    `scope` has the names outside the literals that an aggregate in them can refer to.
    """
    scope = scope.union(bound, *(_names(formula) for formula, _ in literals))

    def bindable(formula: Atom | Comparison) -> Iterator[tuple[Variable, Term]]:
        if isinstance(formula, Comparison) and formula.op == "=":
            for a, b in ((formula.left, formula.right), (formula.right, formula.left)):
                if isinstance(a, Variable) and a.name not in bound:
                    yield a, b

    def ready(literal: _Literal) -> bool:
        formula, wanted = literal
        if isinstance(formula, Atom) and wanted:
            return True
        needed = [_mentions(formula), *(_mentions(term) for _, term in bindable(formula))]
        return any(names & scope <= bound for names in needed)

    def rank(literal: _Literal) -> tuple[int, int]:
        formula, wanted = literal
        if isinstance(formula, Atom) and wanted:
            return 1, len(_names(formula) - bound)
        return 2 if _any(formula, _can_fail) else 0, 0

    waiting, ordered = list(literals), []
    while waiting:
        literal = min(filter(ready, waiting), key=rank, default=None)
        if literal is None:
            raise EvaluationError("a variable of the program is bound nowhere")
        waiting.remove(literal)
        ordered.append(literal)
        bound |= _names(literal[0])
    return ordered


def _parts(node: Any) -> tuple[Any, ...]:
    match node:
        case Atom(_, parts) | And(parts) | Or(parts) | Call(_, parts):
            return parts
        case Comparison(_, left, right):
            return left, right
        case Not(part) | Cast(part):
            return (part,)
        case _:
            return ()


def _names(node: Any) -> frozenset[str]:
    """Variables of the node itself, without those inside its aggregates."""
    if isinstance(node, Variable):
        return frozenset({node.name})
    return frozenset().union(*map(_names, _parts(node)))


def _mentions(node: Any) -> frozenset[str]:
    """Variables of the node, of its aggregates too unless their target makes them local."""
    if isinstance(node, Aggregate):
        return (_mentions(node.body) | _mentions(node.target)) - _names(node.target)
    if isinstance(node, Variable):
        return frozenset({node.name})
    return frozenset().union(*map(_mentions, _parts(node)))


def _any(node: Any, holds: Callable[[Any], bool]) -> bool:
    inner = (node.target, node.body) if isinstance(node, Aggregate) else _parts(node)
    return holds(node) or any(_any(part, holds) for part in inner)


def _can_fail(node: Any) -> bool:
    return (isinstance(node, Call) and node.functor in CAN_FAIL) or isinstance(node, Cast)


def _multiple(term: Term) -> bool:
    is_range = isinstance(term, Call) and term.functor == "range"
    return is_range or any(map(_multiple, _parts(term)))


def _reads(node: Any, strict: bool) -> Iterator[tuple[str, bool]]:
    """Relations under the node, with True where they have to be complete first."""
    if isinstance(node, Atom):
        yield node.relation, strict
    strict |= isinstance(node, Aggregate | Not)
    inner = (node.target, node.body) if isinstance(node, Aggregate) else _parts(node)
    for part in inner:
        yield from _reads(part, strict)


def _strata(rules: Sequence[_Rule], names: Sequence[str]) -> list[list[_Rule]]:
    """Rules by level: what a rule negates or aggregates lies on a lower level than its head."""
    heads = [rule.head.relation for rule in rules]
    read = [
        {
            *(r for formula, wanted in rule.body for r in _reads(formula, not wanted)),
            *(r for term in rule.head.terms for r in _reads(term, True)),
        }
        for rule in rules
    ]
    level, low = dict.fromkeys(names, 0), True
    while low:
        low = False
        for name, reads in zip(heads, read, strict=True):
            least = max((level[other] + strict for other, strict in reads), default=0)
            if least > len(names):
                raise EvaluationError(f"{name} depends on its own negation")
            if level[name] < least:
                level[name], low = least, True
    by_level = defaultdict(list)
    for rule in rules:
        by_level[level[rule.head.relation]].append(rule)
    return [by_level[i] for i in sorted(by_level)]


class _State:
    """All facts so far, and what follows from them in one step."""

    def __init__(self, rows: dict[str, set[Row]]) -> None:
        self.rows = rows
        self.symbols: dict[str, int] = {}
        self.bodies: dict[tuple[int, frozenset[str]], list[list[_Literal]]] = {}
        self.add(())

    def add(self, facts: Iterable[tuple[str, Row]]) -> None:
        for name, row in facts:
            self.rows[name].add(row)
        # Nothing that was looked up before holds any longer.
        self.indexes: dict[tuple[str, tuple[int, ...]], dict[Row, list[Row]]] = {}
        self.folds: dict[tuple[int, frozenset[tuple[str, Value]]], list[Value]] = {}

    def derive(self, rules: Iterable[_Rule], room: float) -> set[tuple[str, Row]]:
        """New facts by one application of every rule."""
        N: set[tuple[str, Row]] = set()
        for head, body, kept in rules:
            envs: list[Env] = [{}]
            for literal, names in zip(body, kept, strict=True):
                found = itertools.chain(*(self.satisfy(literal, env) for env in envs))
                rows = {tuple(env[name] for name in names) for env in found}
                envs = [dict(zip(names, row, strict=True)) for row in rows]
            for env in envs:
                for row in self.choices(head.terms, env):
                    if row not in self.rows[head.relation]:
                        N.add((head.relation, row))
                if len(N) > room:
                    raise LimitError(f"the limit on facts was met by {head.relation}")
        return N

    def solutions(self, body: Iterable[_Literal], env: Env) -> list[Env]:
        envs = [env]
        for literal in body:
            envs = [extended for env in envs for extended in self.satisfy(literal, env)]
        return envs

    def satisfy(self, literal: _Literal, env: Env) -> Iterator[Env]:
        """The environment, extended in every way that makes the literal true."""
        formula, wanted = literal
        if isinstance(formula, Atom):
            found = self.matches(formula, env)
            if wanted:
                yield from found
            elif next(found, None) is None:
                yield env
            return
        for a, b in ((formula.left, formula.right), (formula.right, formula.left)):
            if isinstance(a, Variable) and a.name not in env:
                yield from ({**env, a.name: value} for value in self.values(b, env))
                return
        pairs = self.choices((formula.left, formula.right), env)
        if any(holds(formula.op, a, b) == wanted for a, b in pairs):
            yield env

    def matches(self, atom: Atom, env: Env) -> Iterator[Env]:
        variables = [(i, t.name) for i, t in enumerate(atom.terms) if isinstance(t, Variable)]
        known = {i: env[name] for i, name in variables if name in env}
        for i, term in enumerate(atom.terms):
            if isinstance(term, Constant):
                known[i] = as_kind(term.value, term.kind)
        for row in self.index(atom.relation, tuple(known)).get(tuple(known.values()), ()):
            extended = dict(env)
            if all(same(extended.setdefault(name, row[i]), row[i]) for i, name in variables):
                yield extended

    def index(self, relation: str, columns: tuple[int, ...]) -> dict[Row, list[Row]]:
        if (relation, columns) not in self.indexes:
            index = self.indexes[relation, columns] = {}
            for row in self.rows[relation]:
                index.setdefault(tuple(row[i] for i in columns), []).append(row)
        return self.indexes[relation, columns]

    def choices(self, terms: Iterable[Term], env: Env) -> Iterator[Row]:
        return itertools.product(*(self.values(term, env) for term in terms))

    def values(self, term: Term, env: Env) -> list[Value]:
        """The term's value; several for a range, none for an aggregate that has none."""
        match term:
            case Variable(name):
                return [env[name]]
            case Constant(value, kind):
                return [as_kind(value, kind)]
            case Aggregate():
                names = _mentions(term)
                given = {name: value for name, value in env.items() if name in names}
                key = id(term), frozenset(given.items())
                if key not in self.folds:
                    self.folds[key] = self.fold(term, given)
                return self.folds[key]
            case Cast(inner):
                return [self.cast(v, inner.kind, term.kind) for v in self.values(inner, env)]
            case Call("range", args):
                return [value for row in self.choices(args, env) for value in each(*row)]
            case Call("ord", (arg,)):
                return [self.cast(v, arg.kind, term.kind) for v in self.values(arg, env)]
            case Call(functor, args):
                kind, rows = args[0].kind, self.choices(args, env)
                return [as_kind(apply(functor, row, kind, term.kind), term.kind) for row in rows]
        raise EvaluationError("`_` has no value of its own")

    def fold(self, term: Aggregate, given: Env) -> list[Value]:
        """The aggregate over all distinct assignments of its variables."""
        bound = frozenset(given)
        if (id(term), bound) not in self.bodies:
            self.bodies[id(term), bound] = [
                _ordered(body, _names(term.target), bound) for body in _alternatives(term.body)
            ]
        found: dict[frozenset[tuple[str, Value]], list[Value]] = {}
        for body in self.bodies[id(term), bound]:
            for env in self.solutions(body, given):
                assignment = frozenset(item for item in env.items() if item[0][0] != "=")
                found[assignment] = [] if term.target is None else self.values(term.target, env)
        values: list[Any] = list(itertools.chain(*found.values()))
        match term.op:
            case "count":
                return [as_kind(len(found), term.kind)]
            case "sum":
                return [as_kind(total(values), term.kind)]
            case "mean" if values:
                return [as_kind(total([float(value) for value in values]) / len(values), "float")]
            case "min" | "max" if values:
                return [extreme(term.op, values)]
        return []

    def cast(self, value: Any, old: Kind | None, new: Kind | None) -> Value:
        """The same word as another kind; a symbol's word is its `ord`."""
        if old == new:
            return as_kind(value, new)
        if old == "symbol":
            value = self.symbols.setdefault(value, len(self.symbols))
        elif old == "float":
            (value,) = struct.unpack("<q", struct.pack("<d", value))
        if new == "float":
            (value,) = struct.unpack("<d", struct.pack("<q", as_kind(value, "number")))
        elif new == "symbol":
            if not 0 <= value < len(self.symbols):
                raise EvaluationError(f"no symbol has the number {value}")
            return str(list(self.symbols)[value])
        return as_kind(value, new)

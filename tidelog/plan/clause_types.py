"""One clause in the types pass: first its terms get nodes, at the end they get kinds.

Both walks visit terms in the same order, so that the n-th node belongs to the n-th term.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from tidelog.plan.draft import Type, place
from tidelog.plan.kinds import Kinds
from tidelog.program.builtin_functors import BUILTINS, TESTS, Signature
from tidelog.program.diagnostics import Diagnostic, plural
from tidelog.program.formula_walk import own_names
from tidelog.program.kind_masks import ANY, FLOAT, NUMBER, NUMERIC, SYMBOL, bit, spelled
from tidelog.program.suggestions import did_you_mean
from tidelog.program.syntax import (
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
    Span,
    Term,
    Truth,
    Value,
    Variable,
    Wildcard,
)
from tidelog.program.terms import NIL, RECORD, TermKind, constructor_of, is_constructor
from tidelog.text.writer import to_text

NEGATION = NUMBER | FLOAT  # an unsigned has no negative
BOUNDS: dict[Kind, tuple[int, int]] = {
    "number": (-(2**63), 2**63 - 1),
    "unsigned": (0, 2**64 - 1),
}


class Column(NamedTuple):
    """An argument of a relation: its node, its kind if declared, and how to speak of it."""

    node: int
    mask: int | None
    name: str
    text: str


class _Scope(NamedTuple):
    """Inside an aggregate, `local` names are its own; `seen` are all names known there."""

    local: frozenset[str] | set[str]
    seen: set[str]
    nodes: dict[str, int]


class _ConstructorCall(NamedTuple):
    """A record or branch whose fields have no kinds yet, with the clause that it stands in."""

    call: Call
    node: int
    args: list[int]
    clause: Clause


class Typer:
    def __init__(
        self,
        kinds: Kinds,
        columns: Mapping[str, list[Column]],
        types: Mapping[str, Type],
        functors: Mapping[str, Signature],
    ) -> None:
        self.declared = functors
        self.kinds = kinds
        self.columns = columns
        self.types = types
        self.unresolved: list[_ConstructorCall] = []  # of all clauses so far

    def clause(self, clause: Clause) -> tuple[list[int], list[Diagnostic]]:
        """The nodes of its terms in the order of visits, and its errors."""
        self.nodes: list[int] = []
        self.found: list[Diagnostic] = []
        self.whole = clause
        self.scopes = [_Scope(frozenset(), set(), {})]
        self.formula(clause.body)  # first, so that a fault points at the head
        for head in clause.heads:
            self.formula(head)
        if self.unresolved:
            self.settle()
            if self.found:
                self.unresolved = [each for each in self.unresolved if each.clause is not clause]
        return self.nodes, self.found

    def settle(self) -> None:
        """Give fields their kinds, where it is known what record or branch they are in."""
        settled = True
        while settled:
            settled = False
            for each in list(self.unresolved):
                self.exclude(each)
                mask = self.kinds.mask(each.node)
                if mask.bit_count() == 1:
                    self.unresolved.remove(each)
                    self.fields(each, self.kinds.chosen(mask))
                    settled = True

    def exclude(self, each: _ConstructorCall) -> None:
        """Leave out types whose fields are of other kinds, as long as one is left."""
        mask = self.kinds.mask(each.node)
        left = 0
        for kind in self.kinds.terms:
            fields = (
                kind.constructors.get(constructor_of(each.call.functor), ())
                if mask & kind.bit
                else ()
            )
            masks = [self.kinds.mask(node) for node in each.args]
            if mask & kind.bit and len(fields) == len(masks):
                pairs = zip(fields, masks, strict=True)
                left |= kind.bit if all(bit(f.kind) & m for f, m in pairs) else 0
        if left and left != mask:
            self.kinds.narrow(each.node, left, "its fields say so", each.call.at)

    def fields(self, each: _ConstructorCall, kind: Kind) -> None:
        if not isinstance(kind, TermKind):
            return
        fields = kind.constructors.get(constructor_of(each.call.functor), ())
        of = kind if kind.record else f"branch {constructor_of(each.call.functor)}"
        if len(fields) != len(each.args):
            message = f"{of} has {plural(len(fields), 'field')}, but {len(each.args)} here"
            advice = f"a {kind} is {kind.example()}"
            self.found.append(Diagnostic(message, each.call.at, advice))
            return
        for arg, node, field in zip(each.call.args, each.args, fields, strict=True):
            mask = bit(field.kind)
            text = f"field {field.name} of {of} is {self.kinds.spelled(mask)}"
            self.need(arg, node, mask, text)

    def unsettled(self) -> dict[int, list[Diagnostic]]:
        """Errors about terms without a type after all clauses, by the identity of the clause."""
        faults: dict[int, list[Diagnostic]] = {}
        for each in [*self.unresolved]:
            self.found = faults.setdefault(id(each.clause), [])
            before = len(self.unresolved)
            self.settle()
            if each in self.unresolved and before == len(self.unresolved):
                types = self.kinds.spelled(self.kinds.mask(each.node)).partition(" ")[2]
                shown = to_text(each.call)
                message = f"{shown} could be of several types: {types}"
                advice = f"as({shown}, {types.split(' ')[0].strip(',')}) says which"
                self.found.append(Diagnostic(message, each.call.at, advice))
        return {clause: found for clause, found in faults.items() if found}

    def formula(self, formula: Formula) -> None:
        match formula:
            case Atom():
                for term, column in zip(formula.terms, self.columns[formula.relation], strict=True):
                    node = self.term(term)
                    if column.mask is not None:
                        self.need(term, node, column.mask, column.text)
                    else:
                        self.agree(term, node, column.node, column.text)
            case And() | Or():
                for part in formula.parts:
                    self.formula(part)
            case Not():
                self.formula(formula.part)
            case Comparison():
                left, right = self.term(formula.left), self.term(formula.right)
                if formula.op in TESTS:
                    self.need(formula.left, left, SYMBOL, f"{formula.op} takes symbols")
                    self.need(formula.right, right, SYMBOL, f"{formula.op} takes symbols")
                else:
                    text = f"both sides of {formula.op} must have the same type"
                    self.agree(formula.right, right, left, text)
                    if formula.op not in ("=", "!=") and self.kinds.terms:
                        text = (
                            f"{formula.op} does not take records and branches, which have no order"
                        )
                        self.need(formula.left, left, ANY, text)

    def term(self, term: Term) -> int:
        match term:
            case Variable():
                scope = self.scopes[-1]
                if scope.local:  # inside an aggregate; the outermost scope has no end
                    scope = next(
                        s for s in reversed(self.scopes) if term.name in s.local or not s.local
                    )
                node = scope.nodes.get(term.name, -1)
                if node < 0:
                    node = scope.nodes[term.name] = self.kinds.node()
            case Wildcard():
                node = self.kinds.node()
            case Constant():
                node = self.kinds.node(bit(term.kind) if term.kind else open_to(term.value))
            case Call():
                node = self.call(term)
            case Cast():
                inner = self.term(term.term)
                kind = self.types[term.type_name].kind
                if isinstance(kind, TermKind):
                    text = "as cannot turn another value into a record or branch"
                    self.need(term.term, inner, kind.bit, text)
                elif self.kinds.terms:
                    text = "as cannot turn a record or branch into another value"
                    self.need(term.term, inner, ANY, text)
                node = self.kinds.node(bit(kind))
            case Aggregate():
                node = self.aggregate(term)
        self.nodes.append(node)
        return node

    def signature(self, functor: str) -> Signature | None:
        builtin = BUILTINS.get(functor)
        return builtin.signature if builtin else self.declared.get(functor)

    def call(self, call: Call) -> int:
        if _negative(call) is not None:
            return self.kinds.node(NEGATION)
        if call.functor == NIL or is_constructor(call.functor):
            return self.construction(call)
        signature = self.signature(call.functor)
        args = [self.term(arg) for arg in call.args]
        if signature is None:
            advice = "see the language reference"
            if call.functor.startswith("@"):
                advice = f"declare it: .functor {call.functor[1:]}(x: number): number"
            advice = did_you_mean(call.functor, [*BUILTINS, *self.declared], advice)
            self.found.append(Diagnostic(f"unknown functor {call.functor}", call.at, advice))
            return self.kinds.node()
        if not signature.takes(len(args)):
            message = f"{call.functor} takes {signature.arguments}, but {len(args)} here"
            self.found.append(Diagnostic(message, call.at))
            return self.kinds.node()
        operands = signature.operands
        if call.functor == "-" and len(args) == 1:
            operands = (NEGATION,)
        result = self.kinds.node(ANY if signature.gives is None else signature.gives)
        for i, (arg, node) in enumerate(zip(call.args, args, strict=True)):
            mask = operands[min(i, len(operands) - 1)]
            text = f"{call.functor} takes {self.kinds.spelled(mask)}"
            if mask != self.kinds.any and not self.need(arg, node, mask, text):
                break
            if signature.gives is None:
                text = f"all arguments of {call.functor} must have the same type"
                self.agree(arg, node, result, text)
        return result

    def construction(self, call: Call) -> int:
        """A record, a branch or nil: of one of the types that have such values."""
        args = [self.term(arg) for arg in call.args]
        name = constructor_of(call.functor)
        mask = 0
        for kind in self.kinds.terms:
            if kind.record if call.functor == NIL else name in kind.constructors:
                same = name != RECORD or len(kind.constructors[RECORD]) == len(args)
                mask |= kind.bit if same else 0
        if not mask:
            self.found.append(self.no_constructor(call))
            return self.kinds.node()
        node = self.kinds.node(mask)
        if call.functor != NIL or mask.bit_count() > 1:
            self.unresolved.append(_ConstructorCall(call, node, args, self.whole))
        return node

    def no_constructor(self, call: Call) -> Diagnostic:
        records = [kind for kind in self.kinds.terms if kind.record]
        if call.functor == NIL or (call.functor == RECORD and not records):
            advice = "declare one: .type Pair = [a: number, b: symbol]"
            return Diagnostic("the program has no record types", call.at, advice)
        if call.functor == RECORD:
            message = f"no record type has {plural(len(call.args), 'field')}"
            shown = ", ".join(f"{kind} is {kind.example()}" for kind in records[:3])
            return Diagnostic(message, call.at, shown)
        branches = [
            name for kind in self.kinds.terms if not kind.record for name in kind.constructors
        ]
        advice = did_you_mean(
            constructor_of(call.functor), branches, "declare it: .type T = A {} | B {}"
        )
        return Diagnostic(f"no type has a branch {constructor_of(call.functor)}", call.at, advice)

    def aggregate(self, aggregate: Aggregate) -> int:
        if len(self.scopes) == 1 and not self.scopes[0].seen:
            self.scopes[0].seen.update(own_names(*self.whole.heads, self.whole.body))
        seen = self.scopes[-1].seen
        targets = own_names(aggregate.target) if aggregate.target else set()
        names = targets | own_names(aggregate.body)
        # An empty set of local names marks the outermost scope, so it needs a member.
        self.scopes.append(_Scope({"", *targets, *(names - seen)}, seen | names, {}))
        # The body first, so that a fault points at the target.
        self.formula(aggregate.body)
        target = self.term(aggregate.target) if aggregate.target else None
        self.scopes.pop()
        if aggregate.op == "count" or target is None or aggregate.target is None:
            return self.kinds.node(NUMBER)
        if not self.kinds.narrow(target, NUMERIC, f"{aggregate.op} takes numbers", aggregate.at):
            self.no_number(aggregate, aggregate.target, target)
        return self.kinds.node(FLOAT) if aggregate.op == "mean" else target

    def no_number(self, aggregate: Aggregate, target: Term, node: int) -> None:
        what = f"variable {target.name}" if isinstance(target, Variable) else "this value"
        is_ = self.kinds.spelled_value(self.kinds.mask(node))
        message = f"{aggregate.op} takes numbers, but {what} is {is_}"
        why = self.kinds.why(node)
        notes = (f"{why.text} ({place(why.at)})",) if why else ()
        advice = "symbols can only be counted"
        if is_ != "a symbol":
            advice = "such values can only be counted"
        elif aggregate.op in ("min", "max"):
            advice = f"the functor {aggregate.op}(x, y) takes symbols, the aggregate does not"
        self.found.append(Diagnostic(message, target.at, advice, notes=notes))

    def need(self, term: Term, node: int, mask: int, text: str) -> bool:
        """The term must be of one of these kinds; False if it is not."""
        right = self.kinds.narrow(node, mask, text, term.at)
        if not right:
            self.clash(term, node, self.kinds.spelled(mask), text, ())
        return right

    def agree(self, term: Term, node: int, other: int, text: str) -> None:
        """The term must be of the same kind as the other node."""
        if self.kinds.join(node, other):
            root = self.kinds.root(node)
            if root not in self.kinds.whys and self.kinds.masks[root] != self.kinds.any:
                self.kinds.narrow(node, self.kinds.any, text, term.at)
        else:
            why = self.kinds.why(other)
            notes = (f"{why.text} ({place(why.at)})",) if why else ()
            needed = self.kinds.spelled_value(self.kinds.mask(other))
            self.clash(term, node, needed, text, notes)

    def clash(self, term: Term, node: int, needed: str, text: str, notes: tuple[str, ...]) -> None:
        is_ = self.kinds.spelled_value(self.kinds.mask(node))
        why = self.kinds.why(node)
        if why:
            notes = (f"{why.text} ({place(why.at)})", *notes)
        match term:
            case Variable(name):
                message = f"variable {name} is {needed} here, but {is_} elsewhere"
            case Call(functor=name) if name == NIL or is_constructor(name):
                message = f"{to_text(term)} is {is_}, but {needed} is needed here"
            case Call(functor=name) | Aggregate(op=name):
                message = f"the value of {name} is {is_}, but {needed} is needed here"
            case _:
                message = f"{to_text(term)} is {is_}, but {needed} is needed here"
        self.found.append(Diagnostic(message, term.at, text, notes=notes))


class Writer:
    """Rewrites the clause with the inferred kinds."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds

    def clause(self, clause: Clause, nodes: list[int]) -> tuple[Clause, list[Diagnostic]]:
        self.nodes = iter(nodes)
        self.found: list[Diagnostic] = []
        body = self.formula(clause.body)
        heads = tuple([Atom(h.relation, self.terms(h.terms), h.at) for h in clause.heads])
        return Clause(heads, body, clause.at), self.found

    def formula(self, formula: Formula) -> Formula:
        match formula:
            case Atom():
                return Atom(formula.relation, self.terms(formula.terms), formula.at)
            case And():
                return And(tuple([self.formula(part) for part in formula.parts]), formula.at)
            case Or():
                return Or(tuple([self.formula(part) for part in formula.parts]), formula.at)
            case Not():
                return Not(self.formula(formula.part), formula.at)
            case Comparison():
                left, right = self.terms((formula.left, formula.right))
                return Comparison(formula.op, left, right, formula.at)
            case Truth():
                return formula

    def terms(self, terms: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple([self.term(term) for term in terms])

    def term(self, term: Term) -> Term:
        if type(term) is Variable:
            return Variable(term.name, term.at, self.kind())
        match term:
            case Variable():
                return Variable(term.name, term.at, self.kind())
            case Wildcard():
                return Wildcard(term.at, self.kind())
            case Constant():
                return self.constant(term.value, term.at)
            case Call():
                negative = _negative(term)
                if negative is not None:
                    return self.constant(negative, term.at)
                args = self.terms(term.args)
                kind = self.kind()
                functor = "cat" if term.functor == "+" and kind == "symbol" else term.functor
                return _folded(Call(functor, args, term.at, kind))
            case Cast():
                inner = self.term(term.term)
                kind = self.kind()
                if isinstance(kind, TermKind):
                    return inner
                return Cast(inner, term.type_name, term.at, kind)
            case Aggregate():
                body = self.formula(term.body)
                target = self.term(term.target) if term.target else None
                return Aggregate(term.op, target, body, term.at, self.kind())

    def kind(self) -> Kind:
        return self.kinds.chosen(self.kinds.mask(next(self.nodes)))

    def constant(self, value: Value, at: Span) -> Constant:
        kind = self.kind()
        fault = misfit(value, kind)
        if fault:
            self.found.append(Diagnostic(fault[0], at, fault[1]))
        elif kind == "float":
            value = float(value)
        return Constant(value, kind, at)


def _folded(call: Call) -> Term:
    """A record or branch of constants is one too."""
    if call.functor == NIL:
        return Constant(None, call.kind, call.at)
    if not isinstance(call.kind, TermKind) or not is_constructor(call.functor):
        return call
    values = [arg.value for arg in call.args if isinstance(arg, Constant)]
    if len(values) < len(call.args):
        return call
    return Constant(call.kind.made(constructor_of(call.functor), tuple(values)), call.kind, call.at)


def _negative(call: Call) -> int | None:
    """`-5` is one literal: 9223372036854775808 alone would be no number."""
    if call.functor == "-" and len(call.args) == 1:
        arg = call.args[0]
        if isinstance(arg, Constant) and arg.kind is None and isinstance(arg.value, int):
            return -arg.value
    return None


def open_to(value: Value) -> int:
    """The kinds that a literal can be."""
    if isinstance(value, str):
        return SYMBOL
    return FLOAT if isinstance(value, float) else NUMERIC


def misfit(value: Value, kind: Kind) -> tuple[str, str] | None:
    """Why a literal does not fit its kind, and which values do."""
    if kind in BOUNDS:
        least, most = BOUNDS[kind]
        if not least <= value <= most:  # type: ignore[operator]
            return f"{value} does not fit {_a(kind)}", f"{_a(kind)} is from {least} to {most}"
    elif kind == "float":
        try:
            fits = math.isfinite(float(value))
        except OverflowError:
            fits = False
        if not fits:
            return f"{str(value)[:40]} does not fit a float", "a float is at most 1.797e308"
    return None


def _a(kind: Kind) -> str:
    return spelled(bit(kind))

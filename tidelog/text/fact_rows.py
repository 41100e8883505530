"""The arguments of one fact as values of its relation's columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from tidelog.program.diagnostics import plural
from tidelog.program.rules import Relation
from tidelog.program.suggestions import did_you_mean
from tidelog.program.syntax import Atom, Call, Constant, Kind, Span, Term, Value, Variable, Wildcard
from tidelog.program.terms import NIL, RECORD, Misfit, TermKind, fit, is_constructor
from tidelog.text.lexer import Fault
from tidelog.text.writer import to_text, value_text

BOUNDS = {"number": (-(2**63), 2**63 - 1), "unsigned": (0, 2**64 - 1)}
_A = {"number": "a number", "unsigned": "an unsigned", "float": "a float", "symbol": "a symbol"}


def fitting(values: Sequence[object], kinds: Sequence[Kind]) -> tuple[Value, ...] | None:
    """The values as a row of these kinds, or None if one of them is of no such kind.

    A whole number is a float where a float is needed, and -0.0 is 0.0.

    >>> fitting((1, 2, "a"), ("number", "float", "symbol"))
    (1, 2.0, 'a')
    >>> fitting((-1,), ("unsigned",)) is None
    True
    """
    if len(values) != len(kinds):
        return None
    try:
        return tuple([_fitted(kind, value) for value, kind in zip(values, kinds, strict=True)])
    except Misfit:
        return None


def _fitted(kind: Kind, value: object) -> Value:
    if isinstance(kind, TermKind):
        return fit(kind, value, _fitted)
    found = _FIT[kind](value)
    if found is None:
        raise Misfit(f"{str(value)[:40]!r} is not a {kind}")
    return found


def _number(value: object) -> int | None:
    return value if type(value) is int and -(2**63) <= value < 2**63 else None


def _unsigned(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 2**64 else None


def _float(value: object) -> float | None:
    if type(value) is int:
        return float(value) if abs(value) < 2**1023 else None
    if type(value) is not float or math.isinf(value):
        return None
    return value + 0.0 if value == value else math.nan


def _symbol(value: object) -> str | None:
    return value if type(value) is str else None


_FIT: dict[Kind, Callable[[object], Value | None]] = {
    "number": _number,
    "unsigned": _unsigned,
    "float": _float,
    "symbol": _symbol,
}


def row_of(atom: Atom, relation: Relation) -> tuple[Value, ...]:
    """The row of an atom of constants; a Fault at the first argument that is not a constant."""
    if len(atom.terms) != relation.arity:
        takes = plural(relation.arity, "column")
        given = "1 is" if len(atom.terms) == 1 else f"{len(atom.terms)} are"
        message = f"relation {relation.name} has {takes}, but {given} given here"
        raise Fault(message, atom.at, f"it is {signature(relation)}")
    columns = zip(atom.terms, relation.attributes, relation.kinds, strict=True)
    return tuple(_value(term, f"column {name}", kind) for term, name, kind in columns)


def _value(term: Term, name: str, kind: Kind) -> Value:
    if isinstance(kind, TermKind):
        return _structured(term, name, kind)
    if isinstance(term, Call) and kind == "float" and (named := _named_float(term)) is not None:
        return named
    if isinstance(term, Call) and (term.functor == NIL or is_constructor(term.functor)):
        what = "a branch" if term.functor[0] == "$" else "a record"
        message = f"`{to_text(term)[:40]}` is {what}, but {_A[kind]} is needed here"
        raise Fault(message, term.at, f"{name} is {_A[kind]}")
    if not isinstance(term, Constant):
        raise _no_constant(term)
    value = term.value
    row = fitting((value,), (kind,))
    written = "unsigned" if term.kind == "unsigned" else None
    if row is not None and written in (None, kind):
        return row[0]
    shown = value_text(value, term.kind)[:40]
    advice = f"{name} is {_A[kind]}"
    if kind in BOUNDS and type(value) is int and written in (None, kind):
        least, most = BOUNDS[kind]
        raise Fault(
            f"{shown} does not fit {_A[kind]}", term.at, f"{_A[kind]} is from {least} to {most}"
        )
    is_ = _A[term.kind or "number"]
    raise Fault(f"{shown} is {is_}, but {_A[kind]} is needed here", term.at, advice)


def _structured(term: Term, name: str, kind: TermKind) -> Value:
    """A record or a branch of constants. The parser lets nothing very deep through."""
    if isinstance(term, Variable | Wildcard):
        raise _no_constant(term)
    functor = term.functor if isinstance(term, Call) else ""
    if kind.record and functor == NIL:
        return None
    constructor = functor if functor == RECORD else functor[1:]
    if (
        not isinstance(term, Call)
        or not is_constructor(functor)
        or constructor not in kind.constructors
    ):
        message = f"`{to_text(term)[:40]}` is not a {kind}"
        raise Fault(message, term.at, f"{name} is {kind.example()}")
    fields = kind.constructors[constructor]
    if len(fields) != len(term.args):
        of = kind if kind.record else functor
        message = f"{of} has {plural(len(fields), 'field')}, not {len(term.args)}"
        raise Fault(message, term.at, f"{name} is {kind.example()}")
    pairs = zip(term.args, fields, strict=True)
    values = tuple(_value(arg, f"field {field.name}", field.kind) for arg, field in pairs)
    return kind.made(constructor, values)


def _named_float(term: Call) -> float | None:
    """The value of `to_float("inf")` or `to_float("nan")`, which have no literal."""
    match term:
        case Call("to_float", (Constant(("inf" | "-inf") as text),)):
            return float(text)
        case Call("to_float", (Constant("nan"),)):
            return math.nan
    return None


def _no_constant(term: Term) -> Fault:
    match term:
        case Variable():
            message = f"expected a constant, got the variable `{term.name}`"
            return Fault(message, term.at, f'write a constant, such as 1 or "{term.name}"')
        case Wildcard():
            return Fault("expected a constant, got `_`", term.at, "write constants")
    message = f"expected a constant, got `{to_text(term)[:40]}`"
    return Fault(message, term.at, "write its value")


def signature(relation: Relation) -> str:
    """
    >>> signature(Relation("edge", ("x", "y"), ("number", "symbol")))
    'edge(x: number, y: symbol)'
    """
    columns = zip(relation.attributes, relation.kinds, strict=True)
    return f"{relation.name}({', '.join(f'{name}: {kind}' for name, kind in columns)})"


def unknown_relation(name: str, known: Iterable[str], at: Span) -> Fault:
    return Fault(f"unknown relation {name}", at, known_alike(name, known))


def known_alike(name: str, known: Iterable[str]) -> str:
    """Advice for an unknown relation name."""
    visible = [each for each in known if not each.startswith("%")]
    return did_you_mean(name, visible, "declare it, or add a rule for it")

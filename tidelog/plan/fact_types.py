"""Facts in the types pass: by relation and column, because there may be millions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from tidelog.plan.clause_types import BOUNDS, Column, misfit, open_to
from tidelog.plan.kinds import Kinds
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.kind_masks import FLOAT, NUMERIC, SYMBOL, bit, spelled, spelled_value
from tidelog.program.syntax import Fact, Kind, Value
from tidelog.program.terms import Branch, TermKind
from tidelog.text.writer import value_text

STRUCTURED = {tuple, Branch, type(None)}  # what values of records and branches are
SHOWN = 20  # faults of one relation's facts that are shown


def learn(facts: Sequence[Fact], columns: Sequence[Column], kinds: Kinds) -> Diagnostic | None:
    """Narrow the columns of an undeclared relation to what its facts hold."""
    for i, (column, values) in enumerate(zip(columns, _columns(facts), strict=True)):
        types = {*map(type, values)}
        mask = SYMBOL if str in types else FLOAT if float in types else NUMERIC
        if str in types and len(types) > 1:
            odd = next(f for f in facts if type(f.values[i]) is not type(facts[0].values[i]))
            message = f"{column.name} is a symbol in some facts and a number in others"
            advice = f"write a .decl for {odd.relation}, and values of one type"
            return Diagnostic(message, odd.at, advice, argument=i)
        text = f"{column.name} is {spelled_value(mask)} in a fact"
        kinds.narrow(column.node, mask, text, facts[0].at)
    return None


def convert(
    facts: list[Fact], kinds: Sequence[Kind], columns: Sequence[Column]
) -> tuple[list[Fact], list[Diagnostic]]:
    """Facts with every value of its column's kind (the same list if they were), and faults."""
    exact = True
    for kind, values in zip(kinds, _columns(facts), strict=True):
        types = {*map(type, values)}
        if kind == "symbol":
            right = types == {str}
        elif kind == "float":
            right = types <= {int, float} and _finite(values)
            exact = exact and int not in types
        elif kind not in BOUNDS:
            right = types <= STRUCTURED  # found so before: a literal alone is none of them
        else:
            least, most = BOUNDS[kind]
            right = types == {int} and least <= min(values) and max(values) <= most  # type: ignore
        if not right:
            return facts, list(_faults(facts, kinds, columns))
    if exact:
        return facts, []
    converted = [
        [*map(float, values)] if kind == "float" else values
        for kind, values in zip(kinds, _columns(facts), strict=True)
    ]
    rows = zip(*converted, strict=True)
    return [Fact(name, row, at) for (name, _, at), row in zip(facts, rows, strict=True)], []


def _finite(values: Iterable[Value]) -> bool:
    try:
        return all(map(math.isfinite, values))  # type: ignore[arg-type]
    except OverflowError:  # an integer beyond all floats
        return False


def _columns(facts: Sequence[Fact]) -> Iterator[tuple[Value, ...]]:
    return zip(*(fact.values for fact in facts), strict=True)


def _faults(
    facts: Sequence[Fact], kinds: Sequence[Kind], columns: Sequence[Column]
) -> Iterator[Diagnostic]:
    shown = 0
    for fact in facts:
        places = zip(fact.values, kinds, columns, strict=True)
        for i, (value, kind, column) in enumerate(places):
            if open_to(value) & bit(kind):
                fault = misfit(value, kind)
            else:
                is_ = spelled_value(open_to(value))
                needed = f"a {kind}" if isinstance(kind, TermKind) else spelled(bit(kind))
                text = value_text(value, "symbol") if isinstance(value, str) else str(value)
                fault = f"{text} is {is_}, but {needed} is needed here", column.text
            if fault:
                shown += 1
                if shown <= SHOWN:
                    yield Diagnostic(fault[0], fact.at, fault[1], argument=i)
    if shown > SHOWN:
        message = f"{shown - SHOWN} more values of {facts[0].relation} do not fit their columns"
        yield Diagnostic(message, facts[0].at)

"""Changes as JSON Lines, one record a line.

    {"op": "+", "relation": "edge", "args": [1, 2]}
    {"op": "-", "rule": "path(x, z) :- edge(x, y), edge(y, z)."}
    {"op": "-", "rule": "path.3fa2c1"}
    {"op": "commit"}

JSON has no infinities: they are the strings "inf" and "-inf" in a float's place. Facts of one
relation are objects with its attributes as keys: `{"x": 1, "y": 2}`. A record is an array and
nil is null; a branch is an object with its name as the key of an array: `{"Node": [1, null]}`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from json import JSONDecodeError
from typing import Any

from tidelog.formats.field_values import shown
from tidelog.program.changes import Change, Commit, FactChange, Op, RuleChange
from tidelog.program.diagnostics import DataError, Diagnostic, Sources, plural, render
from tidelog.program.rules import Relation
from tidelog.program.syntax import Kind, Span, Value
from tidelog.program.terms import Branch, Misfit, TermKind, fit, leaves
from tidelog.text.change_notation import RULE_NAME, Excerpt, Relations, rule_of
from tidelog.text.fact_rows import BOUNDS, fitting, known_alike, signature
from tidelog.text.lexer import SourceText
from tidelog.text.writer import to_text

_FACT = '{"op": "+", "relation": "edge", "args": [1, 2]}'
_SHAPES = (
    'write {"op": "+", "relation": …, "args": […]}, {"op": "+", "rule": …} or {"op": "commit"}'
)
_TERMS = 'a record is an array or null, a branch an object such as {"A": [1]}'
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_LETTER = re.compile(  # one of a string in JSON; two escapes may be a surrogate pair
    r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|."
)
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def read_jsonl(
    blocks: Iterable[str], file: str, relations: Relations
) -> Iterator[tuple[Change, Sources] | None]:
    """The change of each line, with what messages about it show. Empty lines are passed over.

    None stands where nothing more is there for now, which an empty block says.
    """
    number = 0
    for block in blocks:
        if not block:
            yield None
            continue
        lines = block.split("\n")
        if not lines[-1]:
            lines.pop()
        for line in lines:
            number += 1
            if line.strip():
                yield _Line(file, number, line.removesuffix("\r")).change(relations)


def read_objects(
    lines: Iterable[str], file: str, relation: Relation
) -> Iterator[tuple[Value, ...]]:
    """The fact of each line; empty lines are skipped."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _Line(file, number, line.removesuffix("\r")).row(relation)


class WrongJson(Exception):
    def __init__(self, message: str, advice: str = _SHAPES) -> None:
        super().__init__(message)
        self.message, self.advice = message, advice


class _Line:
    """One record and its place."""

    def __init__(self, file: str, number: int, text: str) -> None:
        self.file = file
        self.number = number
        self.text = text
        self.at = Span(file, number, 1)
        self.sources: Sources = {file: Excerpt(number, [text])}

    def change(self, relations: Relations) -> tuple[Change, Sources]:
        try:
            record = self._record()
            op, keys = record.get("op"), record.keys()
            if op == "commit":
                if len(keys) > 1:
                    raise WrongJson("a commit has no other keys", 'write {"op": "commit"}')
                return Commit(self.at), self.sources
            if op not in ("+", "-"):
                raise WrongJson('"op" must be "+", "-" or "commit"')
            if keys == {"op", "relation", "args"}:
                return self._fact(op, record["relation"], record["args"], relations)
            if keys == {"op", "rule"}:
                return self._rule(op, record["rule"])
            raise WrongJson("expected a fact, a rule or a commit")
        except WrongJson as wrong:
            raise self._error(wrong.message, wrong.advice) from None

    def row(self, relation: Relation) -> tuple[Value, ...]:
        """The fact of an object."""
        wanted = relation.attributes
        example = f"write {{{', '.join(f'{json.dumps(name)}: …' for name in wanted)}}}"
        try:
            record = self._record(example)
            if record.keys() != set(wanted):
                keys = ", ".join(map(shown, record)) or "none"
                raise WrongJson(f"the keys are {keys}, not those of {signature(relation)}", example)
            values = [record[name] for name in wanted]
            row = fitting(values, relation.kinds) or slow_row(values, relation)
            require_text(row)
        except WrongJson as wrong:
            raise self._error(wrong.message, wrong.advice) from None
        return row

    def _error(self, message: str, advice: str, column: int = 1) -> DataError:
        at = self.at._replace(column=column)
        return DataError(render(Diagnostic(message, at, advice), self.sources))

    def _record(self, example: str = f"write {_FACT}") -> dict[str, Any]:
        try:
            record = json.loads(self.text, object_pairs_hook=unique_keys, parse_constant=constant)
        except JSONDecodeError as error:
            cut = error.pos >= len(self.text.rstrip()) or "Unterminated" in error.msg
            advice = "was the record cut off?" if cut else example
            raise self._error(f"invalid JSON: {error.msg.lower()}", advice, error.colno) from None
        except RecursionError:
            raise WrongJson("nested too deeply") from None
        except ValueError:  # thousands of digits
            raise WrongJson("a number with too many digits", "64 bits hold 20 digits") from None
        if not isinstance(record, dict):
            raise WrongJson("the record is not an object")
        return record

    def _fact(
        self, op: Op, name: object, args: object, relations: Relations
    ) -> tuple[Change, Sources]:
        known = relations()
        relation = known.get(name) if isinstance(name, str) else None
        if relation is None:
            if not isinstance(name, str):
                raise WrongJson('"relation" must be a string', f"write {_FACT}")
            raise WrongJson(f"unknown relation {shown(name)}", known_alike(name, known))
        if not isinstance(args, list):
            raise WrongJson('"args" must be a list', f"write {_FACT}")
        row = fitting(args, relation.kinds) or slow_row(args, relation)
        if "\\u" in self.text or not self.text.isascii():
            require_text(row)
        return FactChange(op, relation.name, row, self.at), self.sources

    def _rule(self, op: Op, text: object) -> tuple[Change, Sources]:
        if not isinstance(text, str):
            raise WrongJson('"rule" must be a string')
        if op == "-" and RULE_NAME.fullmatch(text):
            return RuleChange(op, text, self.at), self.sources
        rule = rule_of(_Inside(self.at, self.text, text), self.sources)
        return RuleChange(op, rule, rule.at), self.sources


class _Inside(SourceText):
    """The text of a rule inside a record: its places are those in the record's line."""

    def __init__(self, at: Span, line: str, text: str) -> None:
        super().__init__(at.file, text)
        self._line = at.line
        strings = list(_STRING.finditer(line))  # "op" and "rule", each before its value
        key = next(i for i in (0, 2) if json.loads(strings[i][0]) == "rule")
        value = strings[key + 1]
        letters = _LETTER.finditer(line, value.start() + 1, value.end() - 1)
        self._columns = [*(letter.start() + 1 for letter in letters), value.end()]

    def span(self, start: int, width: int = 1) -> Span:
        column = self._columns[start]
        after = self._columns[min(start + width, len(self.text))]
        return Span(self.file, self._line, column, max(1, after - column))

    def line_start(self, start: int) -> int:
        return self.text.rfind("\n", 0, start) + 1

    def line_end(self, start: int) -> int:
        return (self.text + "\n").index("\n", start) + 1


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise WrongJson(f"duplicate key {shown(twice)}", "keep one of them")
    return record


def constant(word: str) -> float:
    if word == "NaN":  # as earlier versions wrote it
        return math.nan
    raise WrongJson(f"{word} is not valid JSON", 'write "inf" or "-inf"')


def slow_row(args: list[object], relation: Relation) -> tuple[Value, ...]:
    if len(args) != relation.arity:
        count = plural(len(args), "value")
        raise WrongJson(f"{count} for {signature(relation)}", "give one value for each column")
    columns = zip(args, relation.attributes, relation.kinds, strict=True)
    return tuple(_value(value, name, kind) for value, name, kind in columns)


def _value(value: object, name: str, kind: Kind) -> Value:
    if isinstance(kind, TermKind):
        try:
            return fit(kind, value, lambda of, part: _value(part, f"{name} ({kind})", of))
        except Misfit as misfit:
            raise WrongJson(f"column {name} is {kind}: {misfit}", _TERMS) from None
    row = fitting((value,), (kind,))
    if row is not None:
        return row[0]
    if kind == "float" and isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if isinstance(value, float) and math.isinf(value):
        raise WrongJson(f"a number in column {name} is too large for a float", 'write "inf"?')
    text = json.dumps(value)
    text = text if len(text) <= 40 else f"{text[:40]}…"
    if type(value) is int and kind in BOUNDS:
        least, most = BOUNDS[kind]
        advice = f"{kind} is from {least} to {most}"
        raise WrongJson(f"{text} in column {name} does not fit", advice)
    raise WrongJson(f"column {name} is {kind}, got {text}", "give a value of its type")


def require_text(row: tuple[Value, ...]) -> None:
    for value in leaves(row):
        if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
            raise WrongJson(f"{value[:40]!a} is not valid text", "it has half of a surrogate pair")


def jsonl_text(change: Change) -> str:
    """A change as a record, without a line end.

    >>> jsonl_text(FactChange("+", "edge", (1, "a")))
    '{"op": "+", "relation": "edge", "args": [1, "a"]}'
    """
    match change:
        case FactChange():
            record: dict[str, object] = {"op": change.op, "relation": change.relation}
            record["args"] = [plain(value) for value in change.row]
        case RuleChange(rule=rule):
            record = {"op": change.op, "rule": rule if isinstance(rule, str) else to_text(rule)}
        case _:
            record = {"op": "commit"}
    return json.dumps(record, ensure_ascii=False)


def object_text(relation: Relation, row: tuple[Value, ...]) -> str:
    """A fact as an object, without a line end.

    >>> object_text(Relation("edge", ("x", "y"), ("number", "float")), (1, math.inf))
    '{"x": 1, "y": "inf"}'
    """
    record = dict(zip(relation.attributes, map(plain, row), strict=True))
    return json.dumps(record, ensure_ascii=False)


def plain(value: Value) -> object:
    """The value in JSON: a record is an array, nil is null, a branch an object of one key.

    >>> plain(Branch("A", (1, None)))
    {'A': [1, None]}
    """
    if isinstance(value, tuple):
        return [*map(plain, value)]
    if isinstance(value, Branch):
        return {value.name: [*map(plain, value.values)]}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value

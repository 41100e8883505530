"""Functors that Python computes, for a batch of arguments at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidelog.control.limits import guarded
from tidelog.engine import Ids
from tidelog.local.body import Outside
from tidelog.local.dictionary import Dictionary, fits
from tidelog.local.row_store import RowStore
from tidelog.local.string_functors import compute
from tidelog.program.diagnostics import EvaluationError, LimitError, doubt, during, plural
from tidelog.program.functors import Functor
from tidelog.program.rules import Rule
from tidelog.program.syntax import Kind
from tidelog.program.table import DTYPES, Column, SymbolColumn, Table

SHOWN = 80  # characters of an argument in a message


class FunctorCalls:
    """Answers requests for functors, which rules read as relations of arguments and results."""

    def __init__(self, store: RowStore, dictionary: Dictionary) -> None:
        self.functions: Mapping[str, Functor] = {}  # that programs call
        self.busy = False  # one of these is at work
        self._numbers = 0  # that `autoinc()` has given
        self._store = store
        self._dictionary = dictionary

    def answer(
        self, outside: Outside, rule: Rule, requests: Ids, into: int, tick: Callable[[], None]
    ) -> None:
        """Add to relation `into` the results of a functor for these arguments."""
        if not len(requests):
            return
        kinds, dictionary = outside.signature, self._dictionary
        columns = [dictionary.decode(k, requests[:, c]) for c, k in enumerate(kinds[:-1])]
        try:
            if outside.functor == "autoinc":
                column: Column = self._counted(dictionary.ordered(kinds[:-1], requests))
            else:
                column = self._results(outside, rule, columns, len(requests), tick)
        except LimitError:
            raise
        except EvaluationError as error:
            raise EvaluationError(in_rule(str(error), rule)) from error.__cause__
        ids = dictionary.encode(kinds[-1], column)
        self._store.load(into, np.ascontiguousarray(np.column_stack((requests, ids))))

    def _counted(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """The next numbers, given in the order of the arguments' values."""
        numbers = np.empty(len(order), dtype=np.int64)
        numbers[order] = np.arange(self._numbers, self._numbers + len(order))
        self._numbers += len(order)
        return numbers

    def _results(
        self,
        outside: Outside,
        rule: Rule,
        columns: list[Column],
        size: int,
        tick: Callable[[], None],
    ) -> Column:
        name, kinds = outside.functor, outside.signature
        function = self.functions.get(name)
        if function is None:
            lists = [column.tolist() for column in columns]
            warn = partial(_warn, rule)
            return _column(kinds[-1], compute(name, kinds, lists, warn))
        self.busy = True
        try:
            with guarded(tick), during(f"functor {name[1:]} was running"):
                return _Call(name, function, kinds[-1]).results(columns, size)
        finally:
            self.busy = False


class _Call(NamedTuple):
    """Calls of a function of the program's own."""

    name: str
    functor: Functor
    kind: Kind  # of the result

    def results(self, columns: Sequence[Column], size: int) -> Column:
        """Results for each row of arguments."""
        if self.functor.vectorised:
            return self._at_once(columns, size)
        rows = zip(*(column.tolist() for column in columns), strict=True) if columns else [()]
        return _column(self.kind, [self._one(args) for args in rows])

    def _one(self, args: tuple[Any, ...]) -> Any:
        try:
            result = self.functor.function(*args)
        except Exception as error:
            raise EvaluationError(f"{self._text(args)} raised {_told(error)}") from error
        return self._valued(result, args)

    def _valued(self, result: Any, args: tuple[Any, ...]) -> Any:
        """The result, which must be of the kind that is declared."""
        kind = self.kind
        if not fits(kind, result):
            given = f"{result!r:.{SHOWN}}, of type {type(result).__name__}"
            raise EvaluationError(
                f"{self._text(args)} gave {given}, which is not a value of type {kind},"
            )
        if kind != "symbol":
            return float(result) if kind == "float" else int(result)
        try:
            result.encode()
        except UnicodeEncodeError:
            problem = "a string with half of a surrogate pair,"
            raise EvaluationError(f"{self._text(args)} gave {problem}") from None
        return str(result)

    def _at_once(self, columns: Sequence[Column], size: int) -> Column:
        name, kind = self.name[1:], self.kind
        try:
            given = self.functor.function(*map(_array, columns))
        except Exception as error:
            first = self._text(tuple(column.tolist()[0] for column in columns))
            raise EvaluationError(f"{first} and {size - 1:,} more raised {_told(error)}") from error
        results = np.asarray(given)
        if results.shape != (size,):
            calls = plural(size, "call")
            raise EvaluationError(
                f"functor {name} gave an array of shape {results.shape} for {calls},"
            )
        right = {"number": "iu", "unsigned": "iu", "float": "fiu", "symbol": "OUT"}[kind]
        if results.dtype.kind not in right:
            raise EvaluationError(
                f"functor {name} gave an array of {results.dtype}, which is not of type {kind},"
            )
        if results.dtype != DTYPES.get(kind):
            rows = zip(*(column.tolist() for column in columns), strict=True)
            return _column(kind, map(self._valued, results, rows))
        return results

    def _text(self, args: tuple[Any, ...]) -> str:
        shown = (repr(arg) for arg in args)
        cut = (text if len(text) <= SHOWN else f"{text[:SHOWN]}…" for text in shown)
        return f"functor {self.name[1:]}({', '.join(cut)})"


def _column(kind: Kind, values: Iterable[Any]) -> Column:
    return Table.from_rows((kind,), [(value,) for value in values]).columns[0]


def _array(column: Column) -> NDArray[Any]:
    """Arguments as NumPy has them: strings are objects."""
    if not isinstance(column, SymbolColumn):
        return column
    words = np.empty(len(column.words), dtype=object)
    words[:] = column.words
    return words[column.codes]


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _warn(rule: Rule, message: str) -> None:
    doubt(in_rule(message, rule, "warning"))


def in_rule(message: str, rule: Rule, severity: str = "error") -> str:
    where = f"{rule.at.file}:{rule.at.line}:{rule.at.column}: " if rule.at.line else ""
    return f"{where}{severity}: {message} in the rule\n    {rule.text}"

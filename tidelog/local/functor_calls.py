"""Functions of the program's own, called for a batch of arguments at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.control.limits import guarded
from tidelog.local.dictionary import fits
from tidelog.program.diagnostics import EvaluationError, during, plural
from tidelog.program.functors import Functor
from tidelog.program.syntax import Kind
from tidelog.program.table import DTYPES, Column, SymbolColumn, Table

SHOWN = 80  # characters of an argument in a message


def call(
    name: str,
    functor: Functor,
    kinds: tuple[Kind, ...],
    columns: Sequence[Column],
    size: int,
    tick: Callable[[], None],
) -> Column:
    """Results for each row of arguments; `kinds` are those of the arguments and the result.

    `tick` is called now and then, also inside a call, and may raise to end it.
    """
    with guarded(tick), during(f"functor {name[1:]} was running"):
        if functor.vectorised:
            return _at_once(name, functor, kinds, columns, size)
        rows = zip(*(column.tolist() for column in columns), strict=True) if columns else [()]
        results = [_one(name, functor, kinds[-1], args) for args in rows]
    return Table.from_rows(kinds[-1:], [(value,) for value in results]).columns[0]


def _one(name: str, functor: Functor, kind: Kind, args: tuple[Any, ...]) -> Any:
    try:
        result = functor.function(*args)
    except Exception as error:
        raise EvaluationError(f"{_call_text(name, args)} raised {_told(error)}") from error
    return _valued(name, kind, result, args)


def _valued(name: str, kind: Kind, result: Any, args: tuple[Any, ...]) -> Any:
    """The result, which must be of the kind that is declared."""
    if not fits(kind, result):
        given = f"{result!r:.{SHOWN}}, of type {type(result).__name__}"
        raise EvaluationError(
            f"{_call_text(name, args)} gave {given}, which is no value of type {kind},"
        )
    if kind != "symbol":
        return float(result) if kind == "float" else int(result)
    try:
        result.encode()
    except UnicodeEncodeError:
        problem = "a string with half of a surrogate pair,"
        raise EvaluationError(f"{_call_text(name, args)} gave {problem}") from None
    return str(result)


def _at_once(
    name: str, functor: Functor, kinds: tuple[Kind, ...], columns: Sequence[Column], size: int
) -> Column:
    arrays = [_array(column) for column in columns]
    try:
        given = functor.function(*arrays)
    except Exception as error:
        first = tuple(column.tolist()[0] for column in columns)
        raise EvaluationError(
            f"{_call_text(name, first)} and {size - 1:,} more raised {_told(error)}"
        ) from error
    results, kind = np.asarray(given), kinds[-1]
    if results.shape != (size,):
        raise EvaluationError(
            f"functor {name[1:]} gave an array of shape {results.shape} for {plural(size, 'call')},"
        )
    right = {"number": "iu", "unsigned": "iu", "float": "fiu", "symbol": "OUT"}[kind]
    if results.dtype.kind not in right:
        raise EvaluationError(
            f"functor {name[1:]} gave an array of {results.dtype}, which is not of type {kind},"
        )
    if results.dtype != DTYPES.get(kind):
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        values = [_valued(name, kind, v, args) for v, args in zip(results, rows, strict=True)]
        return Table.from_rows((kind,), [(value,) for value in values]).columns[0]
    return results


def _array(column: Column) -> NDArray[Any]:
    """Arguments as NumPy has them: strings are objects."""
    if not isinstance(column, SymbolColumn):
        return column
    words = np.empty(len(column.words), dtype=object)
    words[:] = column.words
    return words[column.codes]


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _call_text(name: str, args: tuple[Any, ...]) -> str:
    shown = (repr(arg) for arg in args)
    cut = (text if len(text) <= SHOWN else f"{text[:SHOWN]}…" for text in shown)
    return f"functor {name[1:]}({', '.join(cut)})"

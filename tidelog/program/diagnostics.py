"""Errors and warnings about a program or its data: what, where, and what to do."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from tidelog.program.syntax import Inside, Span


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `advice` stands beside the caret; `notes` are further lines, such as a cycle."""

    message: str
    at: Span | None = None
    advice: str = ""
    severity: Literal["error", "warning"] = "error"
    notes: tuple[str, ...] = ()
    argument: int | None = None  # of the fact at `at`, counted from 0


Sources = Mapping[str, Sequence[str]]  # file name to its lines


class TidelogError(Exception):
    """Anything that a user can fix. Command lines print it and exit with code 2."""

    doing = ""  # what was being done when a limit stopped code that is not ours

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses are constructed from other arguments than the message, which `args` holds.
        return _unpickled, (type(self), self.args), self.__dict__


def _unpickled(kind: type[TidelogError], args: tuple[Any, ...]) -> TidelogError:
    return kind.__new__(kind, *args)


class ProgramError(TidelogError):
    """A program that cannot run, with all its errors."""

    def __init__(self, diagnostics: Iterable[Diagnostic], sources: Sources | None = None) -> None:
        self.diagnostics = tuple(diagnostics)
        self.sources: Sources = sources or {}
        super().__init__(self.render())

    def render(self) -> str:
        return "\n".join(render(diagnostic, self.sources) for diagnostic in self.diagnostics)


class DataError(TidelogError):
    """Facts that cannot be read."""


class EvaluationError(TidelogError):
    """An evaluation that failed: a division by zero, a string that is not a number."""


class LimitError(EvaluationError):
    """An evaluation that reached a limit on facts, seconds, rounds or memory."""


def plural(count: int, noun: str) -> str:
    """
    >>> plural(1, "fact"), plural(1200, "fact")
    ('1 fact', '1,200 facts')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def limit_error(what: str, option: str) -> LimitError:
    """A limit reached outside the rounds of an evaluation."""
    return LimitError(f"error: stopped at {what}\n    a larger limit is set by {option}")


def too_many_facts(most: int) -> LimitError:
    return limit_error(f"more than {plural(most, 'fact')}", "--max-facts")


class Doubt(UserWarning):
    """A doubt about a result, as a warning; its text is a whole message."""


def doubt(message: str) -> None:
    """Warn, at the place outside of Tidelog that asked for the evaluation."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("tidelog."):
        level, frame = level + 1, frame.f_back
    warnings.warn(Doubt(message), stacklevel=level)


@contextmanager
def during(what: str) -> Iterator[None]:
    """Note on any error in the block what was running, such as `reading edge from e.facts`."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, LimitError) or not isinstance(error, TidelogError):
            error.add_note(what)
        elif not error.doing:
            error.doing = what
        raise


def render(diagnostic: Diagnostic, sources: Sources) -> str:
    """The finding as text: place, message, the line with a caret, advice.

    >>> at = Span("food.dl", 1, 10)
    >>> print(render(Diagnostic("variable y is bound nowhere", at, "bind y"),
    ...              {"food.dl": ["likes(x, y) :- person(x)."]}))
    food.dl:1:10: error: variable y is bound nowhere
      1 | likes(x, y) :- person(x).
        |          ^ bind y
    """
    at = diagnostic.at
    head = f"{diagnostic.severity}: {diagnostic.message}"
    notes = [f"    note: {note}" for note in diagnostic.notes]
    if isinstance(at, Inside) and at.instance:
        notes.append(f"    note: in the instance {at.instance}")
    if at is None or at.line < 1:
        advice = [f"    {diagnostic.advice}"] if diagnostic.advice else []
        return "\n".join([head, *advice, *notes])
    lines = [f"{at.file}:{at.line}:{at.column}: {head}"]
    source = sources.get(at.file, ())
    if at.line <= len(source):
        lines += _excerpt(source[at.line - 1], at, diagnostic.advice)
    elif diagnostic.advice:
        lines.append(f"    {diagnostic.advice}")
    return "\n".join(lines + notes)


def _excerpt(text: str, at: Span, advice: str, room: int = 100) -> list[str]:
    """The line and its caret; a very long line is cut to the neighbourhood of the caret."""
    start = max(0, at.column - 1 - room // 2) if len(text) > room else 0
    shown = text[start : start + room].replace("\t", " ")
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
    caret = " " * (at.column - 1 - start) + "^" * max(1, min(at.width, len(shown)))
    margin = " " * len(str(at.line))
    return [f"  {at.line} | {printable}", f"  {margin} | {caret} {advice}".rstrip()]

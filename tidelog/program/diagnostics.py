"""What is wrong with a program or its data, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tidelog.program.syntax import Inside, Span


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `advice` stands beside the caret; `notes` are further lines, such as a cycle."""

    message: str
    at: Span | None = None
    advice: str = ""
    severity: Literal["error", "warning"] = "error"
    notes: tuple[str, ...] = ()


Sources = Mapping[str, Sequence[str]]  # file name to its lines


class TidelogError(Exception):
    """Anything a user can put right. Command lines print it and exit with code 2."""


class ProgramError(TidelogError):
    """A program that cannot run, with all that was found wrong in it."""

    def __init__(self, diagnostics: Iterable[Diagnostic], sources: Sources | None = None) -> None:
        self.diagnostics = tuple(diagnostics)
        self.sources: Sources = sources or {}
        super().__init__(self.render())

    def render(self) -> str:
        return "\n".join(render(diagnostic, self.sources) for diagnostic in self.diagnostics)


class DataError(TidelogError):
    """Facts that cannot be read."""


class EvaluationError(TidelogError):
    """An evaluation that cannot go on: a division by zero, a string that is no number."""


class LimitError(EvaluationError):
    """An evaluation that met a limit on facts, seconds, rounds or memory."""


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

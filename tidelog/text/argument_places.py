"""Where an argument of a fact stands. Facts do not keep that: there may be millions of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidelog.program.diagnostics import Diagnostic, Sources
from tidelog.program.syntax import Inside, Span
from tidelog.text.lexer import Lexer, SourceText

_DEEPER = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
LINES = 100  # of a fact that are looked at


def pointed(found: Iterable[Diagnostic], sources: Sources) -> list[Diagnostic]:
    """The findings; one about an argument of a fact points at the argument."""
    return [
        each
        if each.at is None or each.argument is None
        else replace(each, at=_place(each.at, each.argument, sources.get(each.at.file, ())))
        for each in found
    ]


def _place(at: Span, argument: int, lines: Sequence[str]) -> Span:
    """The place of an argument of the fact at `at`, or `at` where a macro made the fact."""
    text = "\n".join(lines[at.line - 1 : at.line - 1 + LINES])
    source = SourceText(at.file, text, at.line)
    lexer = Lexer(source, lambda message, at, advice: None)
    lexer.position = at.column - 1
    name, *rest = lexer.statement()
    if name.kind != "name" or name.start != at.column - 1 or len(name.text) != at.width:
        return at
    depth, count, first = 0, 0, -1
    for token in rest:
        ends = depth == 1 and token.kind in (",", ")")
        if ends and count == argument and first >= 0:
            width = len(text[first : token.start].rstrip())
            place = source.span(first, max(1, width))
            return Inside.of(place, at.instance) if isinstance(at, Inside) else place
        if ends:
            count, first = count + 1, -1
        elif depth and first < 0:
            first = token.start
        depth += _DEEPER.get(token.kind, 0)
    return at

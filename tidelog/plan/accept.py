"""From a program's text to one that may run: read, analysed and without errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tidelog.plan import analyse
from tidelog.program.diagnostics import Diagnostic, ProgramError, Sources
from tidelog.program.rules import CheckedProgram
from tidelog.program.syntax import Program
from tidelog.text import Parsed, parse, parse_file
from tidelog.text.argument_places import pointed
from tidelog.text.includes import BadEncoding, decode

STDIN = "<stdin>"


@dataclass(frozen=True, slots=True)
class Accepted:
    """A program without errors, in both of its forms, with its warnings."""

    typed: Program
    checked: CheckedProgram
    warnings: tuple[Diagnostic, ...]
    sources: Sources


def accept(parsed: Parsed, program: Program | None = None, *, unfold: bool = False) -> Accepted:
    """The program that was read (or `program`, made of it), or all its errors.

    `unfold` is for a program that runs once: see `analyse`.

    >>> accept(parse("q(x) :- p(x). p(1).")).checked.facts
    {'p': [(1,)]}
    """
    analysis = analyse(program or parsed.program, unfold)
    # An error in a component is in all of its instances; it is reported once.
    everything = (*parsed.diagnostics, *pointed(analysis.diagnostics, parsed.sources))
    found = tuple(dict.fromkeys(everything))
    errors = [each for each in found if each.severity == "error"]
    if errors or analysis.typed is None or analysis.checked is None:
        raise ProgramError(errors, parsed.sources)
    warnings = tuple(each for each in found if each.severity == "warning")
    return Accepted(analysis.typed, analysis.checked, warnings, parsed.sources)


def read_program(
    name: str,
    stdin: BinaryIO | None,
    *,
    allow_paths: bool = False,
    include: Sequence[str | Path] = (),
    macros: Mapping[str, object] | None = None,
) -> Parsed:
    """The program in a file, or on the standard input for `-`; it may include its neighbours."""
    if name != "-":
        return parse_file(Path(name), allow_paths=allow_paths, include=include, macros=macros)
    data = stdin.read() if stdin is not None else b""
    try:
        text = decode(data, STDIN)
    except BadEncoding as problem:
        found = Diagnostic(str(problem), problem.at, problem.advice)
        return Parsed(Program(), (found,), {STDIN: problem.text.split("\n")})
    here = Path.cwd()
    return parse(text, STDIN, folder=here, allow_paths=allow_paths, include=include, macros=macros)

"""Every example of the language reference is run and compared with what stands below it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.law.adapters import materialise
from tidelog.oracle import evaluate
from tidelog.plan import Analysis, analyse
from tidelog.program.diagnostics import ProgramError
from tidelog.program.syntax import Value
from tidelog.text import parse
from tidelog.text.writer import value_text

DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(r"^```(\w*)(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
REFUSED = "refused"
Row = tuple[Value, ...]
READ: dict[str, Callable[[str], Value]] = {
    "number": int,
    "unsigned": int,
    "float": float,
    "symbol": str,
}


class Example(NamedTuple):
    line: int
    program: str
    expected: str
    refused: bool
    files: dict[str, str]  # what the example includes or reads, by name


def examples(text: str) -> Iterator[Example]:
    """Each `datalog` block with the `text` block below it; named blocks are its files."""
    files: dict[str, str] = {}
    program: tuple[int, str, bool] | None = None
    for block in FENCE.finditer(text):
        language, name, content = block.groups()
        line = text.count("\n", 0, block.start()) + 1
        if language == "text" and program is not None:
            yield Example(program[0], program[1], content, program[2], files)
            program, files = None, {}
        elif language == "datalog" and name in (None, REFUSED):
            assert program is None, f"line {program and program[0]}: nothing is expected"
            program = line, content, name == REFUSED
        elif name is not None:
            files[name] = content


LANGUAGE = (DOCS / "language.md").read_text(encoding="utf-8")
EXAMPLES = list(examples(LANGUAGE))
RUNNING = [example for example in EXAMPLES if not example.refused]
REFUSALS = [example for example in EXAMPLES if example.refused]


def _line(example: Example) -> str:
    return f"line {example.line}"


def _whole(example: Example) -> str:
    """The program with its includes in place."""
    return re.sub(
        r'^\.include "(.*)"$', lambda m: example.files[m[1]], example.program, flags=re.MULTILINE
    )


def _analyse(program: str) -> Analysis:
    parsed = parse(program, "example.dl")
    analysis = analyse(parsed.program)
    found = parsed.diagnostics + analysis.diagnostics
    if any(diagnostic.severity == "error" for diagnostic in found):
        raise ProgramError(found, parsed.sources)
    return analysis


def _facts(example: Example, analysis: Analysis) -> dict[str, list[Row]]:
    assert analysis.typed is not None
    kinds = evaluate.column_kinds(analysis.typed)
    facts: dict[str, list[Row]] = {}
    for name, content in example.files.items():
        relation, _, ending = name.partition(".")
        if ending == "facts":
            rows = (line.split("\t") for line in content.splitlines())
            facts[relation] = [
                tuple(READ[kind](cell) for kind, cell in zip(kinds[relation], row, strict=True))
                for row in rows
            ]
    return facts


def _functors(example: Example) -> dict[str, Callable[..., Value]]:
    """The functions of the example's `functors.py`."""
    names: dict[str, Callable[..., Value]] = {}
    exec(example.files.get("functors.py", ""), names)
    names.pop("__builtins__", None)
    return names


def _shown(analysis: Analysis, result: Mapping[str, set[Row]]) -> str:
    """The facts of the output relations, sorted, in the notation of programs."""
    assert analysis.typed is not None
    kinds = evaluate.column_kinds(analysis.typed)
    outputs = {d.relation for d in analysis.typed.directives if d.action == "output"}
    return "".join(
        f"{name}({', '.join(map(value_text, row, kinds[name]))}).\n"
        for name in sorted(outputs)
        for row in sorted(result[name])
    )


@pytest.mark.parametrize("example", RUNNING, ids=_line)
def test_the_naive_evaluator_gives_what_the_reference_shows(example: Example) -> None:
    analysis = _analyse(_whole(example))
    assert analysis.typed is not None
    functions = {f"@{name}": function for name, function in _functors(example).items()}
    result = evaluate.evaluate(analysis.typed, _facts(example, analysis), functors=functions)
    assert _shown(analysis, result) == example.expected


@pytest.mark.parametrize("example", RUNNING, ids=_line)
def test_the_engine_gives_what_the_reference_shows(example: Example) -> None:
    analysis = _analyse(_whole(example))
    result = materialise(_whole(example), _facts(example, analysis), _functors(example))
    assert _shown(analysis, result) == example.expected


@pytest.mark.parametrize("example", REFUSALS, ids=_line)
def test_refusals_read_as_the_reference_shows(example: Example) -> None:
    with pytest.raises(ProgramError) as refusal:
        _analyse(_whole(example))
    assert refusal.value.render() + "\n" == example.expected


def test_an_example_below_every_heading() -> None:
    """Only the two sections that list what is missing or different may go without."""
    sections = re.split(r"^## ", LANGUAGE, flags=re.MULTILINE)[1:]
    without = {s.split("\n")[0] for s in sections if "```datalog" not in s}
    assert without <= {"Differences from Soufflé"}


def test_the_table_of_contents_names_every_section() -> None:
    listed = re.findall(r"\]\(#([^)]*)\)", LANGUAGE.split("\n## ")[0])
    sections = re.findall(r"^## (.*)$", LANGUAGE, flags=re.MULTILINE)
    assert listed == [section.lower().replace(" ", "-") for section in sections]

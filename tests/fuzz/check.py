"""What must hold for every text, whatever it is: it is a program, or it is refused with a reason.

Any exception but Tidelog's own errors is a fault of Tidelog, and so is a text that takes too long
for its size. Formatting keeps the tokens of a program and changes nothing the second time; a
program that is written out is the same program; the engine agrees with the naive evaluator.
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from random import Random
from types import FrameType
from typing import NamedTuple

from tidelog import Database
from tidelog.cli.run_files import decide
from tidelog.control.limits import Limits
from tidelog.lsp.document import Document, RenameError
from tidelog.maintain.driver.algorithms import ALGORITHMS
from tidelog.oracle import evaluate
from tidelog.plan import Analysis, analyse
from tidelog.plan.accept import Accepted, accept
from tidelog.program.diagnostics import LimitError, ProgramError, TidelogError, render
from tidelog.program.syntax import Program
from tidelog.text import Parsed, parse, parse_atom, to_text
from tidelog.text.change_notation import Changes
from tidelog.text.formatter import format_text

SECONDS = 60  # for one step on a text of some thousand characters: a hang, whatever the machine
FACTS = 300  # more than these, and a mutant is not run
UNEQUAL = ("autoinc", "ord(", "hash", "@")  # their values are not determined by the language


class TooLong(BaseException):
    """Not an Exception, so that nothing on the way catches it."""


class Failure(NamedTuple):
    """Where a text fails (`kind`, the same for the same cause) and how (`detail`)."""

    kind: str
    detail: str


class Outcome(NamedTuple):
    valid: bool
    ran: bool
    failure: Failure | None


def outcome(text: str, run: bool = True) -> Outcome:
    """Try everything that reads a text."""
    state = {"valid": False, "ran": False}

    def steps() -> Iterator[tuple[str, Callable[[], None]]]:
        parsed: list[Parsed] = []
        found: list[Analysis] = []
        yield "parse", lambda: parsed.append(parse(text, "a.dl"))
        yield "render", lambda: _render(parsed[0])
        yield "analyse", lambda: found.append(analyse(parsed[0].program))
        analysis = found[0]
        wrong = [d for d in parsed[0].diagnostics if d.severity == "error"]
        state["valid"] = analysis.checked is not None and not wrong
        yield "unfold", lambda: _unfolded(parsed[0].program, state["valid"])
        yield "document", lambda: _document(text)
        yield "format", lambda: _format(text)
        yield "changes", lambda: _changes(text, analysis)
        yield "query", lambda: _query(text)
        if state["valid"]:
            yield "directives", lambda: _directives(parsed[0], analysis)
            yield "write", lambda: _written(parsed[0].program)
        if state["valid"] and run and _is_small(text, parsed[0].program):
            state["ran"] = True
            yield "run", lambda: _run(text, analysis)
            yield "use", lambda: _use(text)

    failure = None
    steps_ = steps()
    while failure is None and (step := next(steps_, None)) is not None:
        failure = _failure(*step)
    return Outcome(state["valid"], state["ran"], failure)


def _failure(name: str, step: Callable[[], None]) -> Failure | None:
    try:
        with _alarm():
            step()
    except TidelogError as error:
        if name in ("parse", "analyse", "unfold", "document", "write"):
            return Failure(f"{name}: {type(error).__name__}", str(error))
    except TooLong:
        return Failure(f"{name}: more than {SECONDS} seconds", "")
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{name}: {type(error).__name__} in {last.filename.rpartition('/')[2]}:{last.name}"
        return Failure(kind, traceback.format_exc())
    return None


@contextmanager
def _alarm() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _render(parsed: Parsed) -> None:
    for each in parsed.diagnostics:
        render(each, parsed.sources)


def _unfolded(program: Program, valid: bool) -> None:
    """A run unfolds more than `check`; what one accepts, the other must accept."""
    analysis = analyse(program, unfold=True)
    if valid and analysis.checked is None:
        raise AssertionError(f"refused by run: {analysis.diagnostics[0].message}")


def _document(text: str) -> None:
    document = Document("file:///a.dl", "a.dl", None, text)
    for each in document.diagnostics:
        render(each, document.parsed.sources)
    list(document.symbols())
    for name in document.occurrences[:40]:
        document.at(name.at.line, name.at.column)
        document.definition(name)
        document.explain(name)
        with suppress(RenameError):
            document.renamed(name, "another")


def _format(text: str) -> None:
    try:
        once = format_text(text, "a.dl")
    except ProgramError:
        return
    if format_text(once, "a.dl") != once:
        raise AssertionError("formatting twice is not formatting once")
    before, after = parse(text, "a.dl"), parse(once, "a.dl")
    if not before.diagnostics and to_text(before.program) != to_text(after.program):
        raise AssertionError("formatting changes the program")


def _changes(text: str, analysis: Analysis) -> None:
    known = analysis.checked.relations if analysis.checked is not None else {}
    for piece in ([text], text.splitlines(keepends=True)):
        changes = Changes("a.changes", lambda: known)
        try:
            for part in piece:
                changes.feed(part)
                while changes.next() is not None:
                    pass
            changes.end()
            while changes.next() is not None:
                pass
        except ProgramError as error:
            str(error)


def _query(text: str) -> None:
    parse_atom(text.partition("\n")[0])


def _directives(parsed: Parsed, analysis: Analysis) -> None:
    assert analysis.typed is not None
    assert analysis.checked is not None
    decide(Accepted(analysis.typed, analysis.checked, (), parsed.sources))


def _written(program: Program) -> None:
    """Writing and reading is the identity, but for places."""
    text = to_text(program)
    again = parse(text, "a.dl")
    if again.diagnostics:
        raise AssertionError(f"written as what cannot be read: {again.diagnostics[0].message}")
    if to_text(again.program) != text:
        raise AssertionError("written differently the second time")


def _is_small(text: str, program: Program) -> bool:
    inputs = any(each.action == "input" for each in program.directives)
    return (
        not inputs
        and not program.functors
        and len(program.facts) <= FACTS
        and len(program.clauses) <= FACTS
    )


def _run(text: str, analysis: Analysis) -> None:
    """The engine and the oracle agree: on every fact, or on refusing to go on."""
    assert analysis.typed is not None
    assert analysis.checked is not None
    try:
        expected = evaluate.evaluate(analysis.typed, max_facts=FACTS)
    except TidelogError:
        expected = None
    except RecursionError:
        return
    try:
        accepted = accept(parse(text, "a.dl"), unfold="inline" in text)  # as `run` does
        database = Database.of(accepted, limits=Limits(max_facts=2_000, max_seconds=SECONDS / 4))
    except LimitError:
        return  # a busy machine may be too slow for a program that is right
    except TidelogError as error:
        if "internal error in Tidelog" in str(error):
            raise AssertionError(str(error)) from error
        if expected is not None and "functor" not in str(error):
            raise AssertionError(f"only the engine refuses: {error}") from error
        return
    if expected is None or any(word in text for word in UNEQUAL):
        return
    for name in database.relations:
        got = {repr(row) for row in database.relation(name)}
        if got != {repr(row) for row in expected.get(name, ())}:
            raise AssertionError(f"the engine and the oracle differ in {name}")


def _use(text: str) -> None:
    """A query by demand has the same answer; rules that go and come back change nothing."""
    if any(word in text for word in UNEQUAL):
        return
    random = Random(text)
    limits = Limits(max_facts=2_000, max_seconds=SECONDS / 4)
    with suppress(TidelogError):  # what is refused is refused
        accepted = accept(parse(text, "a.dl"))
        algorithm = random.choice([*ALGORITHMS])
        database = Database.of(accepted, limits=limits, algorithm=algorithm)
        before = _facts(database)
        rules = list(database.rules.items())
        for name, rule in random.sample(rules, min(3, len(rules))):
            body = rule.partition(" :- ")[2].removesuffix(".")
            if body and repr(database.query(body)) != repr(database.query(body, demand=True)):
                raise AssertionError(f"by demand, another answer: {body}")
            database.apply(f'-rule "{name}". commit.')
            database.apply(f"+{rule} commit.")
            if _facts(database) != before:
                raise AssertionError(f"not the same by {algorithm} without and with: {rule}")


def _facts(database: Database) -> dict[str, set[str]]:
    return {name: {repr(row) for row in database.relation(name)} for name in database}

"""`tidelog run`: evaluate a program, as `souffle` does."""

from __future__ import annotations

import argparse
import io
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.accept import Accepted, accept, read_program
from tidelog.cli import arguments, goals
from tidelog.cli.files import Files, decide, output_folder
from tidelog.cli.functors import add_functors, functors_of
from tidelog.cli.opening import announce, facts_of, place_of, progress_of, write_all
from tidelog.cli.terminal import Interrupted, out, say, stdin, stdout
from tidelog.io.atomic import Staged, check_target
from tidelog.io.directives import require_writable
from tidelog.program.diagnostics import Diagnostic, TidelogError, render

if TYPE_CHECKING:
    from tidelog.api import Database
    from tidelog.limits import Limits
    from tidelog.program.syntax import Value
    from tidelog.program.table import Table
    from tidelog.report.profile import RuleRound

DESCRIPTION = """\
Evaluate a program as `souffle` does: read what .input asks for, derive all that follows,
write what .output asks for. Outputs are written when all of them are complete, or not at
all. Exit codes: 0 fine, 1 --check found a difference, 2 bad input, 130 interrupted."""
EXAMPLE = """\
example:
  $ cat reach.dl
  .decl edge(x: number, y: number)
  .input edge
  .output path
  path(x, y) :- edge(x, y).
  path(x, z) :- path(x, y), edge(y, z).
  $ printf '1\\t2\\n2\\t3\\n' > edge.facts
  $ tidelog run reach.dl             reads edge.facts, writes path.csv
  $ tidelog run reach.dl -D -        prints path instead
  $ tidelog run reach.dl --profile   shows where the time goes
  $ tidelog run reach.dl --goal 'path(1, x)'   prints what 1 leads to, and derives no more"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "tidelog run PROGRAM.dl [options]"
    # Optional here, because `--profile PROGRAM.dl` would take it for the profile's file.
    parser.add_argument(
        "program",
        metavar="PROGRAM.dl",
        nargs="?",
        help="the program, or - for the standard input",
    )
    arguments.add_facts(parser, ".")
    parser.add_argument(
        "-D",
        "--output",
        metavar="FOLDER",
        default=".",
        help="where .output files go, the current folder unless given; the last folder of the "
        "path is created if it is missing; - prints every output",
    )
    parser.add_argument(
        "--profile",
        metavar="FILE",
        nargs="?",
        const="",
        help="time, instances and facts per rule: a table (on the standard error, or in FILE) "
        "and a page beside it (PROGRAM.profile.html in the output folder unless FILE is given)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="evaluate once more, naively (slow), and compare; a difference is printed as the "
        "changes that would put the answer right, and nothing is written",
    )
    goals.add_goal(
        parser,
        "print the answer to a question such as 'path(1, x), x > 2' instead of writing outputs, "
        "and evaluate only what it needs",
    )
    arguments.add_reading(parser)
    add_functors(parser)
    arguments.add_limits(parser)
    arguments.add_modules(parser)
    arguments.add_engine(parser)
    parser.add_argument("--no-warnings", action="store_true", help="do not print warnings")


def main(options: argparse.Namespace) -> int:
    began = time.perf_counter()
    _settle_arguments(options)
    arguments.settle_engine(options)
    goals.settle_goal(options)
    parsed = read_program(options.program, stdin(), **arguments.reading(options))
    accepted = accept(parsed, unfold=True)
    if options.check and accepted.checked.limits:
        raise TidelogError(
            "error: --check compares whole evaluations, and .limitsize ends one early"
        )
    files = decide(
        accepted,
        options.facts,
        options.output,
        program=options.program,
        allow_paths=options.allow_paths,
        spark=options.engine == "spark",
    )
    if options.goal:
        return goals.answer(accepted, files, options)
    if not options.no_warnings:
        _warn(accepted, files)
    printed = stdout() if files.printed else io.BytesIO()
    report = _report_of(options)
    with output_folder(options.output if files.written or report else "-"):
        require_writable(files.outputs, sources=accepted.sources)
        if report is not None:
            report.require_writable()
        try:
            database, right = _evaluate(accepted, files, options)
        except KeyboardInterrupt:
            raise Interrupted("nothing was written") from None
        if not right:
            return 1
        warnings = write_all(database, accepted, files, printed)
        if not options.no_warnings:
            for warning in warnings:
                say(render(warning, accepted.sources))
        if report is not None:
            report.write(database.stats.profile, time.perf_counter() - began)
    return 0


def _evaluate(
    accepted: Accepted, files: Files, options: argparse.Namespace
) -> tuple[Database, bool]:
    """The program's consequences, and whether they pass the check, if one is asked for."""
    from tidelog.api import Database
    from tidelog.demanding import for_outputs

    functors = functors_of(accepted, options)
    asked = {each.relation.name for each in files.outputs}
    whole = accepted
    if options.engine == "local":
        accepted = for_outputs(accepted, asked, {each.relation.name for each in files.inputs})
    narrowed = whole is not accepted
    if narrowed:
        read = [each for each in files.inputs if each.relation.name in accepted.checked.relations]
        files = Files(tuple(read), files.outputs)
    announce(accepted, options)
    limits = arguments.limits(options)
    place = place_of(files, options)
    tables = facts_of(accepted, files, place)
    kept: list[tuple[str, Table]] | None = None
    if options.check and place is None:
        tables = kept = list(tables)
    with progress_of(options) as progress:
        database = Database.of(
            accepted,
            tables,
            modules=not options.no_modules,
            limits=limits,
            profile=options.profile is not None,
            progress=progress if progress.on else None,
            place=place,
            functors=functors,
        )
    if not options.check:
        return database, True
    given = _explicit(database) if kept is None else kept
    names = sorted(asked) if narrowed else database.relations
    return database, _check(whole, given, database, names, limits)


def _explicit(database: Database) -> list[tuple[str, Table]]:
    """The facts that Spark has read."""
    engine = database._spark
    assert engine is not None
    names = engine.relations(engine.explicit)
    return [(name, engine.table_of(name, engine.explicit.of(name))) for name in names]


def _check(
    accepted: Accepted,
    tables: list[tuple[str, Table]],
    database: Database,
    names: Iterable[str],
    limits: Limits,
) -> bool:
    from tidelog import naive

    facts: dict[str, list[tuple[Value, ...]]] = {}
    for name, table in tables:
        facts.setdefault(name, []).extend(table.rows())
    found = {name: database.table(name).rows() for name in names}
    functions = database._state.functors.functions
    changes = naive.check(accepted.typed, facts, found, limits.max_facts, functions)
    for change in changes:
        out(change)
    if changes:
        say(
            f"error: {len(changes):,} facts differ from naive evaluation; nothing was written\n"
            "    please report it: the changes above would put the answer right"
        )
    else:
        facts_in_all = sum(map(len, found.values()))
        say(f"checked: {facts_in_all:,} facts, the same by naive evaluation")
    return not changes


def _warn(accepted: Accepted, files: Files) -> None:
    for warning in accepted.warnings:
        say(render(warning, accepted.sources))
    if not files.outputs:
        nothing = Diagnostic(
            "the program writes nothing", advice="add `.output RELATION`", severity="warning"
        )
        say(render(nothing, {}))


@dataclass(frozen=True, slots=True)
class Report:
    """Where the profile goes: a table (None is the standard error) and a page."""

    program: str
    table: Path | None
    page: Path

    def require_writable(self) -> None:
        for path in (self.table, self.page):
            if path is not None:
                check_target(os.fspath(path))

    def write(self, records: Sequence[RuleRound], seconds: float) -> None:
        from tidelog.report.profile import profile_html, profile_text

        text = profile_text(records, seconds)
        with Staged() as staged:
            if self.table is not None:
                staged.write(os.fspath(self.table), [f"{text}\n".encode()], compress=False)
            page = profile_html(records, seconds, self.program)
            staged.write(os.fspath(self.page), [page.encode()], compress=False)
            staged.commit()
        if self.table is None:
            say(text)
        say(f"profile: {self.page}")


def _report_of(options: argparse.Namespace) -> Report | None:
    if options.profile is None:
        return None
    name = "program" if options.program == "-" else Path(options.program).name
    if not options.profile:
        folder = Path("." if options.output == "-" else options.output)
        return Report(name, None, folder / f"{name.removesuffix('.dl')}.profile.html")
    file = Path(options.profile)
    if file.suffix == ".html":
        return Report(name, None, file)
    return Report(name, file, file.with_suffix(".html"))


def _settle_arguments(options: argparse.Namespace) -> None:
    """See to it that `--profile reach.dl` means what it says."""
    profile = options.profile
    if options.program is None and profile and (profile.endswith(".dl") or profile == "-"):
        options.program, options.profile = profile, ""
    if options.program is None:
        options.parser.error("the following arguments are required: PROGRAM.dl")
    if options.goal and (options.check or options.profile is not None):
        other = "--check" if options.check else "--profile"
        options.parser.error(f"argument --goal: not with {other}")
    if options.profile and options.profile.endswith(".dl"):
        options.parser.error(
            f"argument --profile: {options.profile} would be overwritten; put --profile last"
        )

"""`tidelog run`: evaluate a program, as `souffle` does."""

from __future__ import annotations

import argparse
import io
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli import arguments, goal_queries
from tidelog.cli.functor_files import functors_of
from tidelog.cli.open_database import facts_of, files_of, place_of, write_all
from tidelog.cli.run_files import Files, output_folder
from tidelog.cli.standard_streams import Interrupted, out, say, stdin, stdout
from tidelog.control.limits import LimitWatch, guarded
from tidelog.formats.atomic_files import Staged, check_target
from tidelog.formats.directives import require_writable
from tidelog.plan.accept import Accepted, accept, read_program
from tidelog.program.diagnostics import Diagnostic, TidelogError, during, plural, render

if TYPE_CHECKING:
    from tidelog.control.limits import Limits
    from tidelog.program.syntax import Value
    from tidelog.program.table import Table
    from tidelog.report.profile import RuleRound
    from tidelog.session.database import Database

DESCRIPTION = """\
Evaluate a program as `souffle` does: read its .input relations, derive all consequences, and
write its .output relations. Outputs are written when all of them are complete, or not at all.
Exit codes: 0 fine, 1 --check found a difference, 2 bad input, 130 interrupted."""
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
  $ tidelog run reach.dl --goal 'path(1, x)'   prints what 1 reaches, and derives no more"""


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
    arguments.add_output(parser)
    parser.add_argument(
        "--profile",
        metavar="FILE",
        nargs="?",
        const="",
        help="measure time, instances and facts per rule: write a table (to the standard error, or "
        "FILE) and a page (PROGRAM.profile.html in the output folder, or beside FILE)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="evaluate again, naively (slow), and compare; if the results differ, print the "
        "changes that would correct them, and write nothing",
    )
    goal_queries.add_goal(
        parser,
        "print the answer to a query such as 'path(1, x), x > 2' instead of writing outputs, "
        "and evaluate only what it needs",
    )
    arguments.add_evaluation(parser)


def main(options: argparse.Namespace) -> int:
    began = time.perf_counter()
    _settle_arguments(options)
    arguments.settle_engine(options)
    parsed = read_program(options.program, stdin(), **arguments.reading(options))
    accepted = accept(parsed, unfold=True)
    if options.check and accepted.checked.limits:
        raise TidelogError(
            "error: --check compares whole evaluations, and .limitsize ends one early"
        )
    files = files_of(accepted, options, options.facts, options.output)
    if options.goal:
        return goal_queries.answer(accepted, files, options)
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
        try:
            warnings = write_all(database, accepted, files, printed)
            if not options.no_warnings:
                for warning in warnings:
                    say(render(warning, accepted.sources))
        finally:  # a pipe may close before all outputs are printed
            if report is not None:
                report.write(database.stats.profile, time.perf_counter() - began)
    return 0


def _evaluate(
    accepted: Accepted, files: Files, options: argparse.Namespace
) -> tuple[Database, bool]:
    """Evaluate the program; also returns whether the result passes --check."""
    from tidelog.session.database import Database
    from tidelog.session.demand_queries import for_outputs

    functors = functors_of(accepted, options)
    asked = {each.relation.name for each in files.outputs}
    whole = accepted
    if arguments.traits(options).by_demand:
        accepted = for_outputs(accepted, asked, {each.relation.name for each in files.inputs})
    narrowed = whole is not accepted
    if narrowed:
        read = [each for each in files.inputs if each.relation.name in accepted.checked.relations]
        files = Files(tuple(read), files.outputs)
    limits = arguments.limits(options)
    place = place_of(files, options)
    read_facts = facts_of(accepted, files, options.max_facts)
    kept: list[tuple[str, Table]] | None = [] if options.check and place is None else None
    with arguments.traits(options).progress() as progress:
        database = Database.of(
            accepted,
            read_facts if kept is None else lambda backend: _keeping(read_facts(backend), kept),
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
    with guarded(LimitWatch(limits, lambda: 0).check), during("--check evaluated naively"):
        return database, _check(whole, given, database, names, limits)


def _keeping(
    tables: Iterable[tuple[str, Table]], kept: list[tuple[str, Table]]
) -> Iterator[tuple[str, Table]]:
    for each in tables:
        kept.append(each)
        yield each


def _explicit(database: Database) -> list[tuple[str, Table]]:
    """The facts that the database read at the start."""
    store = database.core.store
    return [(name, store.table(name, store.explicit)) for name in store.relations(store.explicit)]


def _check(
    accepted: Accepted,
    tables: list[tuple[str, Table]],
    database: Database,
    names: Iterable[str],
    limits: Limits,
) -> bool:
    from tidelog.oracle import evaluate

    facts: dict[str, list[tuple[Value, ...]]] = {}
    for name, table in tables:
        facts.setdefault(name, []).extend(table.rows())
    found = {name: database.table(name).rows() for name in names}
    functions = database.core.state.functors.functions
    changes = evaluate.check(accepted.typed, facts, found, limits.max_facts, functions)
    for change in changes:
        out(change)
    if changes:
        say(
            f"error: naive evaluation differs by {plural(len(changes), 'fact')}; "
            "nothing was written\n"
            "    please report it: the changes above would correct the answer"
        )
    else:
        facts_in_all = sum(map(len, found.values()))
        say(f"checked: {plural(facts_in_all, 'fact')}, the same by naive evaluation")
    return not changes


def _warn(accepted: Accepted, files: Files) -> None:
    for warning in accepted.warnings:
        say(render(warning, accepted.sources))
    if not files.outputs:
        nothing = Diagnostic(
            "the program has no outputs", advice="add `.output RELATION`", severity="warning"
        )
        say(render(nothing, {}))


@dataclass(frozen=True, slots=True)
class ProfileFiles:
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


def _report_of(options: argparse.Namespace) -> ProfileFiles | None:
    if options.profile is None:
        return None
    name = "program" if options.program == "-" else Path(options.program).name
    if not options.profile:
        folder = Path("." if options.output == "-" else options.output)
        return ProfileFiles(name, None, folder / f"{name.removesuffix('.dl')}.profile.html")
    file = Path(options.profile)
    if file.suffix == ".html":
        return ProfileFiles(name, None, file)
    return ProfileFiles(name, file, file.with_suffix(".html"))


def _settle_arguments(options: argparse.Namespace) -> None:
    """Let `--profile reach.dl` name the program, not the file of the profile."""
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

"""`--goal`: queries of a program, which is evaluated only as far as they need."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace

from tidelog.cli import arguments
from tidelog.cli.functor_files import functors_of
from tidelog.cli.open_database import facts_of, place_of
from tidelog.cli.run_files import Files
from tidelog.cli.standard_streams import Interrupted, out
from tidelog.plan.accept import Accepted
from tidelog.plan.query import Question, compile_question
from tidelog.program.rules import CheckedProgram, Rule
from tidelog.text.writer import to_text

_MADE = re.compile(r"%+([^\s%(,\[]*\^[bf]*)")
_GOAL = re.compile(r"query'(\d+)'\d+")


def add_goal(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--goal",
        metavar="QUERY",
        action="append",
        default=[],
        help=f"{what}; may be given more than once",
    )


def questions(accepted: Accepted, options: argparse.Namespace) -> list[Question]:
    asked = [text.rstrip().removesuffix(".") for text in options.goal]
    return [compile_question(text, accepted.typed, i) for i, text in enumerate(asked)]


def narrowed(accepted: Accepted, files: Files, asked: list[Question]) -> tuple[Accepted, Files]:
    """The program that answers the queries, and the files that it reads."""
    from tidelog.session.demand_queries import goals_of  # kernels take a moment to load

    goals = goals_of(accepted, asked, {each.relation.name for each in files.inputs})
    read = tuple(each for each in files.inputs if each.relation.name in goals.checked.relations)
    return goals, Files(read, ())


def answer(accepted: Accepted, files: Files, options: argparse.Namespace) -> int:
    """Print the answers."""
    from tidelog.cli.prompt import show_answer
    from tidelog.session.database import Database
    from tidelog.session.relation_views import Answer

    functors = functors_of(accepted, options)
    asked = questions(accepted, options)
    goals, files = narrowed(accepted, files, asked)
    place = place_of(files, options)
    try:
        with arguments.traits(options).progress() as progress:
            database = Database.of(
                goals,
                facts_of(goals, files, options.max_facts),
                modules=not options.no_modules,
                limits=arguments.limits(options),
                progress=progress if progress.on else None,
                place=place,
                functors=functors,
            )
    except KeyboardInterrupt:
        raise Interrupted("no answer was printed") from None
    for text, question in zip(options.goal, asked, strict=True):
        if len(asked) > 1:
            out(f"?{text.strip().removesuffix('.')}.")
        rows = [()] if question.holds else database.table(question.relation.name).rows()
        show_answer(Answer(question.columns, rows))
    return 0


def readable(text: str) -> str:
    """A text with readable names of the relations that goals bring.

    >>> readable("query'0'1(x) :- %need:path^bf(x), %%step:path^bf(x, y), y % 2 = 0.")
    'goal1(x) :- need:path^bf(x), step:path^bf(x, y), y % 2 = 0.'
    """
    return _GOAL.sub(lambda found: f"goal{int(found[1]) + 1}", _MADE.sub(r"\1", text))


def spelled(checked: CheckedProgram) -> CheckedProgram:
    """The program with the texts of its rules in core form."""

    def written(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return tuple(replace(rule, text=to_text(rule)) for rule in rules)

    strata = tuple(
        replace(s, nonrecursive=written(s.nonrecursive), recursive=written(s.recursive))
        for s in checked.strata
    )
    return replace(checked, strata=strata, rules=tuple(r for s in strata for r in s.rules))

"""`--goal`: questions to a program, of which only what they need is evaluated."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace

from tidelog.accept import Accepted
from tidelog.cli import arguments
from tidelog.cli.files import Files
from tidelog.cli.functors import functors_of
from tidelog.cli.opening import announce, facts_of, place_of, progress_of
from tidelog.cli.terminal import Interrupted, out
from tidelog.program.rules import CheckedProgram, Rule
from tidelog.questions import Question, compile_question
from tidelog.text.write import to_text

_MADE = re.compile(r"%+([^\s%(,\[]*\^[bf]*)")
_GOAL = re.compile(r"query'(\d+)'\d+")


def add_goal(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--goal",
        metavar="QUESTION",
        action="append",
        default=[],
        help=f"{what}; may be given more than once",
    )


def settle_goal(options: argparse.Namespace) -> None:
    """Refuse what does not go with goals."""
    if options.goal and options.engine == "spark":
        options.parser.error("argument --goal: only with --engine local")


def questions(accepted: Accepted, options: argparse.Namespace) -> list[Question]:
    asked = [text.rstrip().removesuffix(".") for text in options.goal]
    return [compile_question(text, accepted.typed, i) for i, text in enumerate(asked)]


def narrowed(accepted: Accepted, files: Files, asked: list[Question]) -> tuple[Accepted, Files]:
    """The program that answers the questions, and the files that it reads for that."""
    from tidelog.demanding import goals_of  # kernels take a moment to load

    goals = goals_of(accepted, asked, {each.relation.name for each in files.inputs})
    read = tuple(each for each in files.inputs if each.relation.name in goals.checked.relations)
    return goals, Files(read, ())


def answer(accepted: Accepted, files: Files, options: argparse.Namespace) -> int:
    """Print the answers."""
    from tidelog.api import Database
    from tidelog.cli.session import show_answer
    from tidelog.reading import Answer

    functors = functors_of(accepted, options)
    asked = questions(accepted, options)
    goals, files = narrowed(accepted, files, asked)
    announce(goals, options)
    place = place_of(files, options)
    try:
        with progress_of(options) as progress:
            database = Database.of(
                goals,
                facts_of(goals, files, place),
                modules=not options.no_modules,
                limits=arguments.limits(options),
                progress=progress if progress.on else None,
                place=place,
                functors=functors,
            )
    except KeyboardInterrupt:
        raise Interrupted("nothing was answered") from None
    for text, question in zip(options.goal, asked, strict=True):
        if len(asked) > 1:
            out(f"?{text.strip().removesuffix('.')}.")
        rows = [()] if question.holds else database.table(question.relation.name).rows()
        show_answer(Answer(question.columns, rows))
    return 0


def readable(text: str) -> str:
    """A text with names of relations that are made for goals as people read them.

    >>> readable("query'0'1(x) :- %need:path^bf(x), %%step:path^bf(x, y), y % 2 = 0.")
    'goal1(x) :- need:path^bf(x), step:path^bf(x, y), y % 2 = 0.'
    """
    return _GOAL.sub(lambda found: f"goal{int(found[1]) + 1}", _MADE.sub(r"\1", text))


def spelled(checked: CheckedProgram) -> CheckedProgram:
    """The program with its rules' texts as they are evaluated."""

    def written(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return tuple(replace(rule, text=to_text(rule)) for rule in rules)

    strata = tuple(
        replace(s, nonrecursive=written(s.nonrecursive), recursive=written(s.recursive))
        for s in checked.strata
    )
    return replace(checked, strata=strata, rules=tuple(r for s in strata for r in s.rules))

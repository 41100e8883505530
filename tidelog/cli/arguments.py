"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar

from tidelog.control.limits import Limits
from tidelog.control.progress import Progress, RoundProgress
from tidelog.session import ENGINES

if TYPE_CHECKING:
    from tidelog.session.backends import EngineChoice

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_MACRO = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
Number = TypeVar("Number", int, float)
STRATEGIES = ("auto", "driver", "pivot", "components", "shuffle", "frames")


@dataclass(frozen=True, slots=True)
class EngineTraits:
    """What commands do differently with an engine."""

    own_options: tuple[str, ...]  # that no other engine has
    own_formats: bool = False  # may directives name formats that only this engine has?
    by_demand: bool = False  # are relations derived only as far as outputs need them?
    progress: type[Progress] = Progress


TRAITS = {
    "local": EngineTraits(("profile", "goal", "one_stratum"), by_demand=True),
    "spark": EngineTraits(
        ("strategy", "driver_facts", "master", "conf"), own_formats=True, progress=RoundProgress
    ),
}


def traits(options: argparse.Namespace) -> EngineTraits:
    return TRAITS[options.engine]


def add_program(parser: argparse.ArgumentParser, many: bool = False) -> None:
    parser.add_argument(
        "program",
        metavar="PROGRAM.dl",
        nargs="+" if many else None,
        help="the program, or - for the standard input",
    )


def add_facts(parser: argparse.ArgumentParser, default: str | None) -> None:
    parser.add_argument(
        "-F",
        "--facts",
        metavar="FOLDER",
        default=default,
        help="read .input files from FOLDER, the current folder unless given"
        if default
        else "load .input files from FOLDER and evaluate, so that sizes are known",
    )


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Options for reading the program."""
    parser.add_argument(
        "--allow-paths",
        action="store_true",
        help="let the program name files outside its folder and those given",
    )
    parser.add_argument(
        "-I",
        "--include-dir",
        metavar="FOLDER",
        action="append",
        default=[],
        type=folder,
        help="also look for included files in FOLDER; may be given more than once",
    )
    parser.add_argument(
        "-M",
        "--macro",
        metavar="MACROS",
        action="append",
        default=[],
        type=macros,
        help='define macros of the preprocessor, such as "LIMIT=10 DEBUG"; may be given more '
        "than once",
    )


class ReadingOptions(TypedDict):
    """How the text of a program is read, as `read_program` takes it."""

    allow_paths: bool
    include: list[Path]
    macros: dict[str, str]


def reading(options: argparse.Namespace) -> ReadingOptions:
    given = {name: value for each in options.macro for name, value in each.items()}
    return ReadingOptions(
        allow_paths=options.allow_paths, include=options.include_dir, macros=given
    )


def folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder")
    return Path(text)


def macros(text: str) -> dict[str, str]:
    """
    >>> macros("LIMIT=10 DEBUG")
    {'LIMIT': '10', 'DEBUG': '1'}
    """
    found: dict[str, str] = {}
    for part in text.split():
        name, sign, value = part.partition("=")
        if not _MACRO.fullmatch(name):
            raise argparse.ArgumentTypeError(f"{part!r} is not a macro; write it as LIMIT=10")
        found[name] = value if sign else "1"
    return found


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-D",
        "--output",
        metavar="FOLDER",
        default=".",
        help="write .output files to FOLDER, the current folder unless given; the last folder of "
        "the path is created if it is missing; - prints every output",
    )


def add_maintenance(parser: argparse.ArgumentParser) -> None:
    """Options for applying changes."""
    from tidelog.maintain.driver.algorithms import ALGORITHMS

    parser.add_argument(
        "--algorithm",
        metavar="NAME",
        default="auto",
        help=f"how consequences are maintained: {', '.join(ALGORITHMS)}; auto unless given",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="refuse changes that do nothing, such as deleting a fact that does not exist",
    )
    parser.add_argument(
        "--one-stratum",
        action="store_true",
        default=None,
        help="maintain all relations together, so that statistics are those of papers without "
        "strata; negation and aggregates still separate strata, as few as possible",
    )


def add_evaluation(parser: argparse.ArgumentParser) -> None:
    """Options of every command that evaluates a program."""
    add_reading(parser)
    add_functors(parser)
    add_limits(parser)
    add_modules(parser)
    add_engine(parser)
    add_no_warnings(parser)


def add_no_warnings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-warnings", action="store_true", help="do not print warnings")


def add_functors(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--functors",
        metavar="MODULE.py",
        help="a Python file with a function for each .functor of the program, by name; it is "
        "executed",
    )


def add_modules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-modules",
        action="store_true",
        help="evaluate closures, which `tidelog plan` shows, like all other rules",
    )


def add_engine(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("engine")
    group.add_argument(
        "--engine",
        choices=ENGINES,
        default="local",
        help="local (unless given) evaluates in this process; spark on Apache Spark, with .input "
        "and .output in all formats of Spark (IO=parquet, IO=delta, IO=table, …)",
    )
    group.add_argument(
        "--strategy",
        choices=STRATEGIES,
        help="how recursive rules are evaluated: auto (unless given) evaluates small ones in the "
        "driver and chooses among the others; `tidelog plan --engine spark` shows its choice",
    )
    group.add_argument(
        "--driver-facts",
        metavar="N",
        type=none_or_some,
        help="evaluate strata that read at most N facts in the driver (2,000,000 unless given; 0 "
        "for none)",
    )
    group.add_argument(
        "--master",
        metavar="URL",
        help="where Spark runs, such as local[4] or spark://host:7077; unless given, as in "
        "SPARK_MASTER or spark-defaults.conf, or on all cores of this machine",
    )
    group.add_argument(
        "--conf",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        type=setting,
        help="a Spark setting, such as spark.driver.memory=4g; may be given more than once",
    )


def setting(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key.startswith("spark."):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a Spark setting; write it as spark.driver.memory=4g"
        )
    return key, value


def settle_engine(options: argparse.Namespace) -> None:
    """Refuse options that the chosen engine does not have."""
    for engine, its in TRAITS.items():
        for name in its.own_options if engine != options.engine else ():
            if getattr(options, name, None) not in (None, []):
                option = f"--{name.replace('_', '-')}"
                options.parser.error(f"argument {option}: only with --engine {engine}")
    if options.engine == "spark":
        from tidelog.spark import check_algorithm

        check_algorithm(getattr(options, "algorithm", "auto"))  # before Spark is started


def place(options: argparse.Namespace) -> EngineChoice | None:
    """Start Spark if it is chosen; None for the local engine."""
    if options.engine == "local":
        return None
    from tidelog.session.backends import EngineChoice
    from tidelog.spark.session import session

    settings = dict(options.conf)
    name = "program" if options.program == "-" else Path(options.program).name
    master = options.master or settings.pop("spark.master", None) or usual_master()
    spark = session(master, f"tidelog {name}", settings)
    return EngineChoice("spark", spark, options.strategy or "auto", options.driver_facts)


def usual_master() -> str | None:
    """The master that Spark's own commands would use."""
    if found := os.environ.get("SPARK_MASTER") or os.environ.get("MASTER"):
        return found
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (os.path.join(home, "conf") if home else "")
    try:
        lines = (Path(folder) / "spark-defaults.conf").read_text().splitlines() if folder else []
    except OSError:
        return None
    for line in lines:
        words = line.replace("=", " ", 1).split(None, 1)
        if len(words) == 2 and words[0] == "spark.master":
            return words[1].strip()
    return None


def add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-facts", metavar="N", type=count, help="stop at more than N facts")
    parser.add_argument(
        "--max-seconds",
        metavar="S",
        type=seconds,
        help="stop after S seconds of reading and evaluation",
    )
    parser.add_argument(
        "--max-memory",
        metavar="SIZE",
        type=size,
        help="stop when the process uses more memory than SIZE, such as 512M or 2G; nine tenths of "
        "the machine's memory unless given",
    )


def limits(options: argparse.Namespace) -> Limits:
    return Limits(options.max_facts, options.max_seconds, options.max_memory)


def size(text: str) -> int:
    """Bytes.

    >>> size("2G"), size("1.5 MiB"), size("4096")
    (2147483648, 1572864, 4096)
    """
    found = _SIZE.fullmatch(text.strip())
    bytes_ = float(found[1]) * _UNITS[found[2].upper()] if found else 0
    if bytes_ < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write it as 512M or 2G")
    return int(bytes_)


def _positive(text: str, read: Callable[[str], Number], noun: str) -> Number:
    try:
        number = read(text)
    except ValueError:
        number = read("0")
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a {noun} above 0")
    return number


def count(text: str) -> int:
    return _positive(text, int, "whole number")


def none_or_some(text: str) -> int:
    """
    >>> none_or_some("0"), none_or_some("12")
    (0, 12)
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or above")
    return int(text)


def seconds(text: str) -> float:
    return _positive(text, float, "number")

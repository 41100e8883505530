"""Options that several commands share, and the kinds of values they take."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import TypeVar

from tidelog.limits import Limits

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
Number = TypeVar("Number", int, float)


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
        help="where .input files are; the current folder unless given"
        if default
        else "load the .input files of this folder and evaluate, so that sizes are known",
    )


def add_allow_paths(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-paths",
        action="store_true",
        help="let the program name files outside its folder and those given",
    )


def add_modules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-modules",
        action="store_true",
        help="evaluate closures, which `tidelog plan` names, like all other rules",
    )


def add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-facts", metavar="N", type=count, help="stop at more than N facts")
    parser.add_argument(
        "--max-seconds", metavar="S", type=seconds, help="stop after S seconds of evaluation"
    )
    parser.add_argument(
        "--max-memory",
        metavar="SIZE",
        type=size,
        help="stop when the process holds more, such as 512M or 2G; nine tenths of the "
        "machine's memory unless given",
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
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write it as 512M or 2G")
    return int(bytes_)


def _positive(text: str, read: Callable[[str], Number], noun: str) -> Number:
    try:
        number = read(text)
    except ValueError:
        number = read("0")
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no {noun} above 0")
    return number


def count(text: str) -> int:
    return _positive(text, int, "whole number")


def seconds(text: str) -> float:
    return _positive(text, float, "number")

"""Decides which files a run reads and writes, before it begins."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidelog.formats.directives import Input, Output, inputs, outputs
from tidelog.plan.accept import Accepted
from tidelog.program.diagnostics import Diagnostic, ProgramError, TidelogError


@dataclass(frozen=True, slots=True)
class Files:
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]

    @property
    def printed(self) -> bool:
        """Does an output go to the standard output?"""
        return any(each.form != "file" for each in self.outputs)

    @property
    def written(self) -> bool:
        """Does an output go to a file or a table?"""
        return any(each.form == "file" for each in self.outputs)


def decide(
    accepted: Accepted,
    facts: str = ".",
    output: str = ".",
    *,
    program: str = "",
    changes: Iterable[str] = (),
    allow_paths: bool = False,
    spark: bool = False,
) -> Files:
    """The files that a program's directives name; an error shows all that is wrong with them.

    `changes` are files that will be read later, and that no output may overwrite.
    """
    wrong: list[Diagnostic] = []
    read: tuple[Input, ...] = ()
    written: tuple[Output, ...] = ()
    sources = accepted.sources
    try:
        read = inputs(
            accepted.checked, facts, allow_paths=allow_paths, sources=sources, spark=spark
        )
    except ProgramError as error:
        wrong += error.diagnostics
    try:
        written = outputs(
            accepted.checked, output, allow_paths=allow_paths, sources=sources, spark=spark
        )
    except ProgramError as error:
        wrong += error.diagnostics
    wrong += [_overwrites(each, "the program itself") for each in written if _is(each, sources)]
    wrong += [_overwrites(each, "a file of changes") for each in written if _is(each, changes)]
    if program == "-":
        wrong += [_read_already(each) for each in read if each.stdin]
    if wrong:
        raise ProgramError(sorted(wrong, key=lambda each: each.at or ()), sources)
    return Files(read, written)


def _is(asked: Output, names: Iterable[str]) -> bool:
    """Would the output be written to one of these files?"""
    return asked.path is not None and any(_same(asked.path, name) for name in names)


def _same(one: str | os.PathLike[str], other: str) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(one, other)  # where capital letters do not count, say
    except OSError:
        return False


def _overwrites(asked: Output, what: str) -> Diagnostic:
    message = f"{asked.path} is {what}, which the output would overwrite"
    return Diagnostic(message, asked.at, "choose another file name")


def _read_already(asked: Input) -> Diagnostic:
    message = "the standard input holds the program, so no facts can be read from it"
    return Diagnostic(message, asked.at, "put the program into a file")


@contextlib.contextmanager
def output_folder(folder: str) -> Iterator[None]:
    """A folder that exists within the block; if it was created and stays empty, it is removed."""
    created = False
    if folder != "-" and not os.path.isdir(folder):
        try:
            os.mkdir(folder)
            created = True
        except FileExistsError:
            raise TidelogError(f"the output folder {folder} is not a folder") from None
        except FileNotFoundError:
            raise TidelogError(
                f"the output folder {folder} cannot be created: there is no folder "
                f"{os.path.dirname(folder.rstrip('/'))}\n    create it first"
            ) from None
        except OSError as error:
            raise TidelogError(
                f"the output folder {folder} cannot be created: {error.strerror}"
            ) from None
    try:
        yield
    finally:
        if created:
            with contextlib.suppress(OSError):
                os.rmdir(folder)

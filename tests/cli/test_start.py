"""Starting: what is imported when, help that teaches, and the package's own names."""

from __future__ import annotations

import resource
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tidelog
from tests.cli.conftest import COMMAND, Cli, process
from tidelog.cli import COMMANDS

HEAVY = ("numba", "llvmlite", "pyarrow", "pandas", "polars", "numpy", "pyspark", "py4j")


def imported(*arguments: str) -> set[str]:
    """Heavy packages that a command line imports."""
    program = (
        "import sys; from tidelog.cli import main\n"
        f"code = main({list(arguments)!r})\n"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "sys.stderr.write(f'{code} {loaded}')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    code, _, loaded = done.stderr.decode().splitlines()[-1].partition(" ")
    assert code == "0"
    return {name for name in HEAVY if f"'{name}'" in loaded}


def test_light_commands_import_nothing_heavy(folder: Path) -> None:
    assert imported("--version") == imported("--help") == set()
    assert imported("run", "--help") <= {"numpy"}
    assert imported("check", "reach.dl") <= {"numpy"}


def test_small_inputs_need_no_frames(folder: Path) -> None:
    assert imported("run", "reach.dl") == {"numba", "llvmlite", "numpy"}


def test_a_small_program_takes_little_time(folder: Path) -> None:
    """Of the processor, compared with the imports that it needs."""

    def used(run: Callable[[], object]) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    imports = [sys.executable, "-c", "import numba, numpy"]
    pairs = (
        (
            used(lambda: process("run", "reach.dl")),
            used(lambda: subprocess.run(imports, check=True)),
        )
        for _ in range(5)
    )
    assert any(run < 4 * needed for run, needed in pairs)


# Help and versions.


def test_the_version() -> None:
    assert process("--version") == (0, f"tidelog {tidelog.__version__}\n", "")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_teaches_with_an_example(cli: Cli, command: str) -> None:
    code, out, err = cli(*([command] if command else []), "--help")
    assert (code, err) == (0, "")
    assert "\nexample:\n  $ " in out
    assert all(len(line) <= 100 for line in out.splitlines())


def examples(text: str) -> list[tuple[str, list[str]]]:
    """Commands of a help text's example, each with the lines shown below it."""
    found: list[tuple[str, list[str]]] = []
    for line in text.split("\nexample:\n")[1].splitlines():
        if line.startswith("  $ "):
            found.append((line[4:].split("   ")[0], []))
        elif line.startswith("  ") and found:
            found[-1][1].append(line[2:])
    return found


@pytest.mark.parametrize("command", ["", "run", "check", "plan"])
def test_the_examples_of_help_are_true(cli: Cli, folder: Path, command: str) -> None:
    for path in folder.iterdir():
        path.unlink()
    for line, shown in examples(cli(*([command] if command else []), "--help").out):
        words = shlex.split(line)
        if words[0] == "cat":
            (folder / words[1]).write_text("\n".join(shown) + "\n")
        elif words[0] == "tidelog":
            code, out, err = cli(*words[1:])
            assert code == (2 if command == "check" else 0), err
            if shown:
                assert (err + out).splitlines() == shown
        else:
            subprocess.run(line, shell=True, check=True)
    if command == "run":
        assert (folder / "path.csv").read_text() == "1\t2\n1\t3\n2\t3\n"


# The package.


def test_names_are_imported_on_first_use() -> None:
    program = (
        "import sys, tidelog\n"
        "assert 'numba' not in sys.modules\n"
        "assert set(tidelog.__all__) <= set(dir(tidelog))\n"
        "from tidelog import Limits, ProgramError\n"
        "assert 'numba' not in sys.modules\n"
        "assert 'tidelog.session.database' not in sys.modules\n"
        "tidelog.Database('p(1).')\n"
        "assert 'numba' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_every_public_name_is_there() -> None:
    for name in tidelog.__all__:
        assert getattr(tidelog, name).__name__ == name
    with pytest.raises(AttributeError, match="module 'tidelog' has no attribute 'Databse'"):
        tidelog.Databse  # noqa: B018


def test_the_module_runs_as_the_command() -> None:
    assert COMMAND[1:] == ["-m", "tidelog"]
    assert process("--help").out.startswith("usage: tidelog [-h] [--version] COMMAND ...")

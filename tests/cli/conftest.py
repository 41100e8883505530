"""Command lines in this process, or in one of their own where streams and signals matter."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tidelog.cli import main

REACH = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
ENDLESS = """\
.decl n(x: number)
.output n
n(0).
n(x + 1) :- n(x).
"""
COMMAND = [sys.executable, "-m", "tidelog"]


class Result(NamedTuple):
    code: int
    out: str
    err: str


Cli = Callable[..., Result]


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    """Kernels are in the cache before a process is started that waits for none."""
    from tidelog import Database

    assert Database("q(x + 1) :- p(x). p(1).").size("q") == 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: reach.dl with its facts, and endless.dl."""
    (tmp_path / "reach.dl").write_text(REACH)
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n")
    (tmp_path / "endless.dl").write_text(ENDLESS)
    monkeypatch.chdir(tmp_path)
    # Processes are started here and must find the package that is under test.
    root = Path(__file__).parent.parent.parent
    monkeypatch.setenv("PYTHONPATH", str(root))
    return tmp_path


@pytest.fixture
def cli(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Cli:
    def run(*arguments: str, stdin: str | bytes = b"") -> Result:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        code = main(arguments)
        captured = capsysbinary.readouterr()
        return Result(code, captured.out.decode(), captured.err.decode())

    return run


def ticking(step: float) -> list[str]:
    """The command, where each look of the limits at the clock takes so many seconds."""
    return [sys.executable, "-m", "tests.cli.ticking", str(step)]


def process(*arguments: str, stdin: bytes = b"", command: Sequence[str] = COMMAND) -> Result:
    """The same in a process of its own."""
    done = subprocess.run(
        [*command, *arguments], input=stdin, capture_output=True, timeout=120, check=False
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def names(folder: Path) -> set[str]:
    return set(os.listdir(folder))

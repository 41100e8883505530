"""Soufflé, interpreted, as in the DYRE paper: the baseline that evaluates everything from scratch.

It reads facts from files and writes its relations to files, which counts. No other file here calls
it, and it takes part only where `souffle` is on the PATH.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bench.checksum import checksum
from bench.data import Rows
from bench.dbsp.cases import Step
from bench.dbsp.play import State, TooMuch
from bench.plain import parse_plain
from bench.updates.changes import Change


def version() -> str | None:
    """The first line that Soufflé prints of itself; None if it is not there."""
    if shutil.which("souffle") is None:
        return None
    told = subprocess.run(["souffle", "--version"], capture_output=True, text=True, check=False)
    return next((line.strip() for line in told.stdout.splitlines() if "ersion" in line), "souffle")


class Souffle:
    """A program whose facts change; each change is a run."""

    def __init__(self, program: str, limit: float) -> None:
        self.arities = parse_plain(program).arities
        self.rules = [line for line in program.splitlines() if ":-" in line]
        self.limit = limit
        self.facts: dict[str, set[tuple[int, ...]]] = {name: set() for name in self.arities}
        self.found: dict[str, Rows] = {}

    def warm_up(self, steps: Sequence[Step]) -> None:
        """It has no kernels."""

    def make(self, change: Change) -> None:
        if change.rules_come or change.rules_gone:
            raise ValueError("Soufflé takes part where facts change, and not rules")
        for name, rows in change.gone.items():
            self.facts[name].difference_update(map(tuple, rows.tolist()))
        for name, rows in change.come.items():
            self.facts[name].update(map(tuple, rows.tolist()))
        with tempfile.TemporaryDirectory() as folder:
            self._run(Path(folder))

    def _run(self, folder: Path) -> None:
        (folder / "program.dl").write_text(self._program(), encoding="utf-8")
        for name, rows in self.facts.items():
            lines = ("\t".join(map(str, row)) + "\n" for row in rows)
            (folder / f"{name}.facts").write_text("".join(lines), encoding="utf-8")
        command = ["souffle", f"-F{folder}", f"-D{folder}", str(folder / "program.dl")]
        try:
            subprocess.run(command, timeout=self.limit, check=True, capture_output=True)
        except subprocess.TimeoutExpired as error:
            raise TooMuch("seconds") from error
        self.found = {
            name: self._rows(folder / f"{name}.csv", n) for name, n in self.arities.items()
        }

    def _program(self) -> str:
        """Its own declarations, with files for all relations."""
        lines = []
        for name, arity in self.arities.items():
            columns = ", ".join(f"c{i}: number" for i in range(arity))
            lines += [f".decl {name}({columns})", f".input {name}", f".output {name}"]
        return "\n".join([*lines, *self.rules, ""])

    def _rows(self, path: Path, arity: int) -> Rows:
        text = path.read_text(encoding="utf-8")
        return np.array(text.split(), dtype=np.int64).reshape(-1, arity)

    def state(self) -> State:
        return {name: checksum(rows) for name, rows in self.found.items() if len(rows)}

    @contextmanager
    def compiling(self) -> Iterator[Sequence[object]]:
        """It is interpreted."""
        yield ()

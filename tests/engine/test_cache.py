"""Compiled kernels come back from the cache only if no source of theirs has changed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import tidelog
from tidelog.engines.local.kernels import join
db = tidelog.Database("p(x, z) :- e(x, y), e(y, z). e(1, 2). e(2, 3).")
print(list(db["p"]), "hit" if join.run.stats.cache_hits else "compiled")
"""


@pytest.mark.slow
def test_a_change_in_any_kernel_file_compiles_again(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "tidelog", tmp_path / "tidelog", ignore=shutil.ignore_patterns("__pycache__")
    )

    def run() -> str:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    assert run() == "[(1, 3)] compiled"
    assert run() == "[(1, 3)] hit"
    other = tmp_path / "tidelog" / "engines" / "local" / "kernels" / "layout.py"
    other.write_text(other.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    assert run() == "[(1, 3)] compiled"

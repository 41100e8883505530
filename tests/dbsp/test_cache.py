"""Compiled kernels come back from the cache only if no source of theirs has changed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.dbsp import kernel_group

ROOT = Path(__file__).parents[2]
PROGRAM = """
from tidelog.dbsp import ZSet
from tidelog.dbsp.kernels.zset_joins import total
print(ZSet.of([(1,), (1,)]), "hit" if total.stats.cache_hits else "compiled")
"""


def test_every_kernel_that_is_kept_knows_all_sources() -> None:
    names = {kernel.py_func.__name__ for kernel in kernel_group.KERNELS.all}
    assert {"add", "distinct", "join", "total", "weigh"} <= names
    files = [getattr(kernel._cache, "_cache_file", None) for kernel in kernel_group.KERNELS.all]
    kept = [file for file in files if file is not None]
    assert kept
    assert len({file._version[1] for file in kept}) == 1


@pytest.mark.slow
def test_a_change_in_any_kernel_file_compiles_again(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "tidelog", tmp_path / "tidelog", ignore=shutil.ignore_patterns("__pycache__")
    )

    def run() -> str:
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert run() == "ZSet.of({(1,): 2}) compiled"
    assert run() == "ZSet.of({(1,): 2}) hit"
    other = tmp_path / "tidelog" / "dbsp" / "kernels" / "row_table.py"
    other.write_text(other.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    assert run() == "ZSet.of({(1,): 2}) compiled"

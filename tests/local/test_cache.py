"""Compiled kernels come back from the cache only if no source of theirs has changed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tidelog.local import kernel_group

ROOT = Path(__file__).parents[2]
# A small kernel stands for all: they are looked after together.
PROGRAM = """
import numpy as np
import tidelog.local.kernel_group
from tidelog.local.kernels import bits, layout
masks = np.zeros(4, dtype=np.uint16)
table = np.zeros(layout.R_WIDTH, dtype=np.int64)
table[layout.R_MASK] = masks.ctypes.data
none = np.empty(0, dtype=np.uint32)
changed = bits.turn(table.ctypes.data, 0, none, 1, 2, 4, 0, none)
print(changed, masks.tolist(), "hit" if bits.turn.stats.cache_hits else "compiled")
"""


def test_all_kernels_that_are_kept_know_all_sources() -> None:
    files = [getattr(kernel._cache, "_cache_file", None) for kernel in kernel_group.KERNELS.all]
    kept = [file for file in files if file is not None]
    assert len(kept) > 10
    assert len({file._version[1] for file in kept}) == 1


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

    assert run() == "2 [0, 4, 4, 0] compiled"
    assert run() == "2 [0, 4, 4, 0] hit"
    other = tmp_path / "tidelog" / "local" / "kernels" / "layout.py"
    other.write_text(other.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    assert run() == "2 [0, 4, 4, 0] compiled"

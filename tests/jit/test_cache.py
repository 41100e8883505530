"""The disk cache of kernels, when sources change."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

KERNEL = """
from numba import njit

@njit(cache=True)
def first(bundle):
    return bundle.values[0]
"""
BUNDLE = """
from typing import NamedTuple
import numpy as np

class Bundle(NamedTuple):
    values: np.ndarray
"""
RUN = """
from pathlib import Path
import numpy as np
import kernel, {home}
from tidelog.jit.groups import load_quickly, load_safely

load_safely([kernel.first], Path().glob("*.py"))
load_quickly([kernel.first])
print(kernel.first({home}.Bundle(np.array([7]))), sum(kernel.first.stats.cache_hits.values()))
"""


def run(folder: Path, home: str) -> list[str]:
    """What the kernel returns for a type of this module, and how often it was in the cache."""
    line = [sys.executable, "-c", RUN.format(home=home)]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_types_may_move(tmp_path: Path) -> None:
    """A cache of other sources may name modules and types that there no longer are."""
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "here.py").write_text(BUNDLE)
    assert run(tmp_path, "here") == ["7", "0"]
    assert [*(tmp_path / "__pycache__").glob("*.nbi")]
    assert run(tmp_path, "here")[0] == "7"
    (tmp_path / "here.py").rename(tmp_path / "there.py")
    assert run(tmp_path, "there") == ["7", "0"]

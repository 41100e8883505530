"""The example is killed, resumes, and prints the expected output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "pipeline"


@pytest.mark.slow
def test_the_example(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLE / "run.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (EXAMPLE / "expected" / "run.txt").read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == []


def test_it_is_listed_with_its_command() -> None:
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert "`python examples/pipeline/run.py`" in text

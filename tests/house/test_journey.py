"""The walk in docs/architecture.md names the files that a change passes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATHS = re.compile(r"\b\w+/[\w/]+\.py\b")


def test_the_walk_is_the_journey_of_a_change() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("\n## The journey of a change\n")[2].partition("\n## ")[0]
    walk = PATHS.findall(section.partition("| --- |")[2])
    # In a process of its own: what earlier tests have loaded or cached is not passed again.
    command = [sys.executable, "-m", "bench.journey"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert len(walk) == len(set(walk))
    assert set(walk) == set(PATHS.findall(done.stdout))
    assert len(walk) <= 54

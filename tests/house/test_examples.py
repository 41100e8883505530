"""Every example runs, and gives what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.cli import main

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = sorted((ROOT / "examples").glob("*/*.dl"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.parent.name)
def test_example(program: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    code = main(
        ["run", str(program), "-F", str(program.parent / "facts"), "-D", str(out), "--check"]
    )
    said = capfd.readouterr().err
    assert code == 0, said
    assert re.fullmatch(r"checked: \d+ facts, the same by naive evaluation\n", said)
    expected = program.parent / "expected"
    assert {p.name: p.read_text() for p in out.iterdir()} == {
        p.name: p.read_text() for p in expected.iterdir()
    }


def test_every_example_is_listed_with_its_command() -> None:
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"`tidelog run (\S+) -F (\S+) -D -`", text)
    assert sorted(listed) == [
        (f"examples/{p.parent.name}/{p.name}", f"examples/{p.parent.name}/facts") for p in PROGRAMS
    ]


SCRIPTS = sorted((ROOT / "examples" / "dbsp").glob("*.py"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script(script: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    expected = script.parent / "expected" / f"{script.stem}.txt"
    assert done.stdout == expected.read_text(encoding="utf-8")


def test_every_script_is_listed_with_its_command() -> None:
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"`python (examples/dbsp/\S+)`", text)
    assert sorted(listed) == [p.relative_to(ROOT).as_posix() for p in SCRIPTS]


def test_demo_shows_a_materialisation_and_its_change(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    parts = dict(part.split("\n\n", 1) for part in done.stdout.split("\n== ")[1:])
    assert 'no_way_back("Brig", "Domodossola").' in parts["The materialisation"]
    changes = parts["Changes of facts, and the resulting delta"].splitlines()
    assert '-no_way_back("Brig", "Domodossola").' in changes
    assert '+reach("Brig", "Spiez").' in changes
    tried = parts["A dry run: the delta of removing a rule"]
    assert "reach: 0 inserted, 12 deleted" in tried.splitlines()
    last = parts["A rule is removed: -reach(x, z) :- reach(x, y), road(y, z)."].splitlines()
    assert '-reach("Thun", "Brig").' in last
    assert '+reachable_towns("Bern", 1).' in last
    assert sum(line.startswith("-reach(") for line in last) == 12
    assert list(tmp_path.iterdir()) == []

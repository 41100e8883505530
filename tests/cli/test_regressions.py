"""Input that once ended in a traceback, a wrong message or a hang."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tidelog as tl
from tests.clock import Clock
from tidelog.cli import main


def test_questions_keep_the_limits(clock: Clock) -> None:
    slow = tl.Database("a(1).", limits=tl.Limits(max_seconds=0.5))
    clock.late()
    with pytest.raises(tl.LimitError, match=r"more than 0\.5 seconds"):
        slow.query("x = range(0, 9223372036854775807), x < 0")
    small = tl.Database("a(1).", limits=tl.Limits(max_facts=1000))
    with pytest.raises(tl.LimitError, match="more than 1,000 facts"):
        small.query("x = range(0, 300000)")
    assert small.query("a(x)") == [(1,)]


def test_limits_are_numbers_and_hold_without_rules() -> None:
    with pytest.raises(tl.TidelogError, match="max_facts must be a number of at least 0, got -1"):
        tl.Limits(max_facts=-1)
    with pytest.raises(tl.TidelogError, match="max_seconds must be a number"):
        tl.Limits(max_seconds="x")  # type: ignore[arg-type]
    with pytest.raises(tl.LimitError, match="more than 0 facts"):
        tl.Database("a(1).", limits=tl.Limits(max_facts=0))


def test_an_output_does_not_overwrite_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = '.decl a(x: number)\na(1).\n.output a(filename="over.dl")\n'
    Path("over.dl").write_text(text, encoding="utf-8")
    assert main(["run", "over.dl"]) == 2
    assert "over.dl is the program itself" in capsys.readouterr().err
    assert Path("over.dl").read_text(encoding="utf-8") == text


def test_a_device_is_no_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "/dev/zero"]) == 2
    assert "/dev/zero is not a regular file" in capsys.readouterr().err


def test_a_closed_standard_input(tmp_path: Path) -> None:
    program = tmp_path / "closed.dl"
    program.write_text(".decl a(x: number)\n.input a(IO=stdin)\n.output a\n", encoding="utf-8")
    command = f'exec "{sys.executable}" -m tidelog run "{program}" -D - <&-'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no facts for `a`: the standard input is closed" in done.stderr
    assert "internal error in Tidelog" not in done.stderr


@pytest.mark.parametrize("facts", [5, [(1,)], {"n": [(1,), ("a",)]}, {"n": []}])
def test_facts_that_tell_nothing(facts: object) -> None:
    with pytest.raises(
        tl.TidelogError, match=r"expected facts as a mapping by relation|do not show the types"
    ):
        tl.Database("m(x) :- n(x).", facts=facts)  # type: ignore[arg-type]


@pytest.mark.parametrize("program", [None, b"a(1)."])
def test_programs_are_text(program: object) -> None:
    with pytest.raises(tl.TidelogError, match="expected a program as a path or text"):
        tl.Database(program)  # type: ignore[arg-type]

"""`tidelog why` and `why-not`, their commands at the prompt, and causes in `tidelog apply`."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Cli
from tests.explain.proving import take_time
from tidelog.cli.why import FORMATS
from tidelog.explain.proof import FORMATS as WRITERS


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    take_time(monkeypatch)


def test_a_proof_in_every_format(cli: Cli) -> None:
    code, out, err = cli("why", "reach.dl", "path(1, 3)", "--no-modules")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "path(1, 3)",
        "  by path(x, z) :- path(x, y), edge(y, z).  reach.dl:6  x = 1, z = 3, y = 2",
        "  path(1, 2)",
        "    by path(x, y) :- edge(x, y).  reach.dl:5  x = 1, y = 2",
        "    edge(1, 2)  explicit",
        "  edge(2, 3)  explicit",
    ]
    assert tuple(WRITERS) == FORMATS
    written = {f: cli("why", "reach.dl", "path(1, 3).", "--format", f).out for f in FORMATS}
    assert json.loads(written["json"])["height"] == 1
    assert written["dot"].startswith("digraph proof {")
    assert written["html"].startswith("<!doctype html>")


def test_a_fact_that_does_not_hold(cli: Cli) -> None:
    code, out, err = cli("why", "reach.dl", "path(3, 1)")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "error: path(3, 1) does not hold",
        "    ask why not: the answer says what is missing",
    ]


def test_why_not(cli: Cli) -> None:
    code, out, err = cli("why-not", "reach.dl", "path(3, 1)", "--repairs", "1", "--seconds", "600")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "path(3, 1) does not hold",
        "  path(x, y) :- edge(x, y).  reach.dl:5  x = 3, y = 1",
        "    fails: edge(3, 1)",
        "  path(x, z) :- path(x, y), edge(y, z).  reach.dl:6  x = 3, z = 1",
        "    fails: path(3, y)",
        "    fails: edge(y, 1)",
        "  repair: +edge(3, 1).",
    ]
    found = json.loads(
        cli("why-not", "reach.dl", "path(3, 1)", "--format", "json", "--seconds", "600").out
    )
    assert found["repairs"] == [["+edge(3, 1)."]]
    assert cli("why-not", "reach.dl", "path(1, 3)").code == 2


def test_explanations_at_the_prompt(cli: Cli) -> None:
    lines = ":why path(1, 2)\n:why-not path(3, 3)\n:why\n"
    code, out, err = cli("repl", "reach.dl", stdin=lines)
    assert code == 2
    assert out.splitlines()[:3] == [
        "path(1, 2)",
        "  by path(x, y) :- edge(x, y).  reach.dl:5  x = 1, y = 2",
        "  edge(1, 2)  explicit",
    ]
    assert "  repair: +edge(3, 3)." in out.splitlines()
    assert err.splitlines() == ["error: :why needs a fact", "    write :why path(1, 4)"]


def test_causes_stand_behind_each_delta(cli: Cli) -> None:
    changes = "+edge(3, 4).\n+edge(8, 9).\ncommit.\n-edge(1, 2).\ncommit.\n"
    options = ("apply", "reach.dl", "-", "--deltas", "-", "--explain")
    code, out, err = cli(*options, stdin=changes)
    assert (code, err) == (0, "")
    causes = [line for line in out.splitlines() if line.startswith("//")]
    assert causes == [
        "// +path(1, 4). because of +edge(3, 4).",
        "// +path(2, 4). because of +edge(3, 4).",
        "// +path(3, 4). because of +edge(3, 4).",
        "// +path(8, 9). because of +edge(8, 9).",
        "// -path(1, 2). because of -edge(1, 2).",
        "// -path(1, 3). because of -edge(1, 2).",
        "// -path(1, 4). because of -edge(1, 2).",
    ]
    refused = cli("apply", "reach.dl", "-", "--explain", stdin=changes)
    assert refused.code == 2
    assert "argument --explain: only with --deltas -, and without --dry-run" in refused.err

"""`tidelog rdf` through real processes: outputs, deltas, live pipes, exit codes, no tracebacks."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent.parent
COMMAND = [sys.executable, "-m", "tidelog", "rdf"]
FAMILY = """\
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:parentOf rdfs:subPropertyOf :ancestorOf ; rdfs:domain :Parent .
:ancestorOf a owl:TransitiveProperty, owl:IrreflexiveProperty .
"""
DATA = "@prefix : <http://example.org/> .\n:Ann :parentOf :Bob .\n:Bob :parentOf :Cem .\n"
E = "http://example.org/"
DELETE_BOB = f"TX .\nD <{E}Ann> <{E}parentOf> <{E}Bob> .\nTC .\n"
LOST = f"""\
TX .
D <{E}Ann> <{E}ancestorOf> <{E}Bob> .
D <{E}Ann> <{E}ancestorOf> <{E}Cem> .
D <{E}Ann> <{E}parentOf> <{E}Bob> .
D <{E}Ann> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{E}Parent> .
TC .
"""


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "family.ttl").write_text(FAMILY)
    (tmp_path / "people.ttl").write_text(DATA)
    (tmp_path / "bob.rdfp").write_text(DELETE_BOB)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


def rdf(*arguments: str, stdin: str = "") -> Result:
    done = subprocess.run(
        [*COMMAND, *arguments], input=stdin.encode(), capture_output=True, timeout=300, check=False
    )
    assert b"Traceback" not in done.stderr
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


OWL = ("--ontology", "family.ttl", "--profile", "owl2rl")


@pytest.mark.slow
def test_materialise(folder: Path) -> None:
    printed = rdf("materialise", "people.ttl", *OWL, "-o", "-")
    assert (printed.code, printed.err) == (0, "")
    lines = printed.out.splitlines()
    assert f"<{E}Ann> <{E}ancestorOf> <{E}Cem> ." in lines
    assert lines == sorted(lines)
    done = rdf("materialise", "people.ttl", *OWL, "-o", "all.nt.gz", "--stats", "stats.json")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert gzip.decompress((folder / "all.nt.gz").read_bytes()).decode() == printed.out
    stats = json.loads((folder / "stats.json").read_text())
    assert (stats["explicit"], stats["triples"]) == (6, len(lines))
    piped = rdf("materialise", "-", "--format", "turtle", *OWL, "-o", "-", stdin=DATA)
    assert piped.out == printed.out


@pytest.mark.slow
def test_both_reasoners_give_the_same_data(folder: Path) -> None:
    results = [
        rdf("materialise", "people.ttl", *OWL, "-o", "-", *flag) for flag in ((), ("--compiled",))
    ]
    people = [
        {line for line in result.out.splitlines() if line.startswith((f"<{E}A", f"<{E}B"))}
        for result in results
    ]
    assert [result.code for result in results] == [0, 0]
    assert len(people[0]) == 7
    assert people[0] == people[1]


def test_apply(folder: Path) -> None:
    done = rdf(
        *("apply", "people.ttl", "bob.rdfp", *OWL, "-o", "all.ttl"),
        *("--deltas", "-", "--deltas", "out.changes", "--deltas", "out.rdfp"),
    )
    assert (done.code, done.out, done.err) == (0, LOST, "")
    assert (folder / "out.rdfp").read_text() == LOST
    signed = LOST.replace("TX .\n", "").replace("TC .", "commit.").replace("D <", "- <")
    assert (folder / "out.changes").read_text() == signed
    assert "Ann" not in (folder / "all.ttl").read_text()
    # Inserting the triple again restores what was derived from it.
    bob = f"<{E}Ann> <{E}parentOf> <{E}Bob> ."
    (folder / "both.changes").write_text(f"- {bob}\ncommit.\n+ {bob}\n")
    done = rdf("apply", "people.ttl", "both.changes", *OWL, "--deltas", "-")
    assert done.out == signed + signed.replace("- <", "+ <")


@pytest.mark.slow
def test_deleting_an_axiom(folder: Path) -> None:
    axiom = f"<{E}parentOf> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> <{E}ancestorOf>"
    for way in ((), ("--compiled",)):
        done = rdf("apply", "people.ttl", "-", *OWL, "--deltas", "-", *way, stdin=f"- {axiom} .\n")
        assert done.code == 0
        assert sum("ancestorOf>" in line for line in done.out.splitlines()) == 4
        assert f"- {axiom} .\n" in done.out


def test_a_live_pipe(folder: Path) -> None:
    """Each delta is written when its commit is read, while the pipe is open."""
    command = [*COMMAND, "apply", "people.ttl", "-", *OWL, "--deltas", "-"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(DELETE_BOB.encode())
        process.stdin.flush()
        got = "".join(process.stdout.readline().decode() for _ in LOST.splitlines())
        assert got == LOST
        process.stdin.write(DELETE_BOB.replace("D <", "A <").encode())
        process.stdin.flush()
        again = "".join(process.stdout.readline().decode() for _ in LOST.splitlines())
        assert again == LOST.replace("D <", "A <")
        process.stdin.close()
        assert process.wait(120) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_fault_keeps_what_was_applied_before_and_writes_no_triples(folder: Path) -> None:
    (folder / "bad.rdfp").write_text(DELETE_BOB + "TX .\nA oops .\nTC .\n")
    done = rdf(
        *("apply", "people.ttl", "bad.rdfp", *OWL, "-o", "all.nt"),
        *("--deltas", "-", "--deltas", "out.rdfp"),
    )
    assert (done.code, done.out) == (2, LOST)
    assert done.err.startswith("bad.rdfp:5:3: error: ")
    assert done.err.endswith("note: 1 update was applied before; no triples were written\n")
    assert (folder / "out.rdfp").read_text() == LOST
    assert not (folder / "all.nt").exists()


@pytest.mark.slow
def test_check(folder: Path) -> None:
    fine = rdf("check", "people.ttl", *OWL)
    assert (fine.code, fine.out, fine.err) == (0, "", "consistent\n")
    (folder / "loop.nt").write_text(f"<{E}Cem> <{E}parentOf> <{E}Ann> .\n")
    wrong = rdf("check", "people.ttl", "loop.nt", *OWL)
    assert wrong.code == 1
    lines = wrong.out.splitlines()
    assert lines[0] == "prp-irp: :ancestorOf :Ann"
    assert lines[2] == "    :Ann :ancestorOf :Ann ."
    assert wrong.err == "3 contradictions\n"
    warned = rdf("materialise", "people.ttl", "loop.nt", *OWL, "-o", "all.nt")
    assert warned.code == 0
    assert warned.err.startswith("warning: the graph contradicts itself in 3 places\n")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("materialise", "none.ttl", "-o", "-"), "error: file none.ttl does not exist\n"),
        (("materialise", "people.ttl", "-o", "x.csv"), "error: cannot infer the format of x.csv"),
        (("materialise", "people.ttl", "-o", "people.ttl"), "error: people.ttl is an input"),
        (("materialise", "people.ttl", "-o", "no/x.nt"), "error: folder no does not exist\n"),
        (
            ("materialise", "-", "-o", "-"),
            "error: cannot infer the format of <stdin> from its name\n",
        ),
        (
            ("materialise", "-", "--ontology", "-", "--format", "turtle", "-o", "-"),
            "error: the standard input can be read only once\n",
        ),
        (
            ("apply", "-", "-", "--format", "turtle", "--deltas", "-"),
            "error: the standard input can be read only once\n",
        ),
        (("materialise", "bad.nt", "-o", "x.nt"), "bad.nt:2:1: error: "),
        (
            ("materialise", "people.ttl", "-o", "-", "--algorithm", "magic"),
            "error: unknown algorithm 'magic'\n",
        ),
        (
            ("materialise", "people.ttl", "-o", "-", "--max-facts", "1"),
            "error: stopped at more than 1 fact",
        ),
        (
            ("apply", "people.ttl", "bob.rdfp", "--deltas", "x.txt"),
            "error: cannot infer the format of changes from the name x.txt",
        ),
        (
            ("apply", "people.ttl", "twice.changes", "--strict", "--deltas", "-"),
            "error: there is no such fact: ",
        ),
    ],
)
def test_bad_input_is_reported_and_writes_nothing(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    (folder / "bad.nt").write_text("<a:s> <a:p> <a:o> .\noops\n")
    (folder / "twice.changes").write_text("- <a:s> <a:p> <a:o> .\n")
    before = set(os.listdir(folder))
    done = rdf(*arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.startswith((message, "<", "error"))
    assert set(os.listdir(folder)) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("materialise", "people.ttl"), "materialise requires -o FILE"),
        (("materialise", "people.ttl", "-o", "-", "--deltas", "-"), "argument --deltas: only with"),
        (("apply", "people.ttl"), "apply takes DATA and, last, CHANGES"),
        (("dance", "people.ttl"), "invalid choice: 'dance'"),
    ],
)
def test_conflicting_options(
    folder: Path, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from tidelog.cli import main

    assert main(["rdf", *arguments]) == 2
    assert message in capsys.readouterr().err

"""`tidelog apply`: changes in, deltas and outputs out, commit by commit."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.cli.conftest import COMMAND, Cli, names, ticking
from tests.cli.test_start import imported
from tests.cli.test_streams import read_until

CHANGES = """\
+edge(3, 4).
-edge(1, 2).
commit.
-path(x, z) :- path(x, y), edge(y, z).
commit.
+edge(5, 5).
"""
DELTAS = """\
-path(1, 2).
-path(1, 3).
+path(2, 4).
+path(3, 4).
commit.
-path(2, 4).
commit.
+path(5, 5).
commit.
"""
BEFORE = "1\t2\n1\t3\n2\t3\n"


def test_deltas_are_printed_and_outputs_written(cli: Cli, folder: Path) -> None:
    (folder / "a.changes").write_text(CHANGES)
    assert cli("apply", "reach.dl", "a.changes", "--deltas", "-", "-D", "out") == (0, DELTAS, "")
    assert (folder / "out" / "path.csv").read_text() == "2\t3\n3\t4\n5\t5\n"


def test_the_standard_input(cli: Cli, folder: Path) -> None:
    assert cli("apply", "reach.dl", "-", "--deltas", "-", stdin=CHANGES) == (0, DELTAS, "")
    assert (folder / "path.csv").exists()


def test_deltas_read_as_changes_give_the_same_outputs(cli: Cli, folder: Path) -> None:
    """Applied to the outputs of before, deltas lead to the outputs of after."""
    (folder / "a.changes").write_text(CHANGES)
    for deltas in ("d.changes", "d.jsonl", "d.jsonl.gz", "path.tsv", "path.csv", "path=d.parquet"):
        code, out, err = cli("apply", "reach.dl", "a.changes", "-D", "out", "--deltas", deltas)
        assert (code, out, err) == (0, "", "")
        (folder / "paths.dl").write_text(
            ".decl path(x: number, y: number)\n.input path\n.output path\n"
        )
        (folder / "path.facts").write_text(BEFORE)
        assert cli("apply", "paths.dl", deltas, "-D", "again").code == 0
        assert (folder / "again" / "path.csv").read_text() == "2\t3\n3\t4\n5\t5\n"
        Path(deltas.removeprefix("path=")).unlink()


def test_files_are_applied_in_order(cli: Cli, folder: Path) -> None:
    (folder / "a.changes").write_text("+edge(3, 1).\ncommit.\n-edge(3, 1).")
    (folder / "b.jsonl").write_text('{"op": "+", "relation": "edge", "args": [3, 7]}\n')
    (folder / "edge.csv").write_text("op,x,y\n+,7,8\n-,2,3\n")
    parquet.write_table(pa.table({"op": ["+"], "x": [8], "y": [9]}), "more.parquet")
    (folder / "z.dl.gz").write_bytes(gzip.compress(b"-edge(8, 9)."))
    files = ("a.changes", "b.jsonl", "edge.csv", "edge=more.parquet", "z.dl.gz")
    code, out, err = cli("apply", "reach.dl", *files, "--deltas", "d.jsonl", "-D", "-")
    assert (code, err) == (0, "")
    assert out.splitlines()[4:-1] == ["1\t2", "3\t7", "3\t8", "7\t8"]
    assert (folder / "d.jsonl").read_text().count('{"op": "commit"}') == 6


def test_the_format_can_be_told(cli: Cli, folder: Path) -> None:
    text = '{"op": "+", "relation": "edge", "args": [3, 4]}'
    (folder / "log.txt").write_text(text)
    delta = "+path(1, 4).\n+path(2, 4).\n+path(3, 4).\ncommit.\n"
    for place in ("log.txt", "-"):
        found = cli("apply", "reach.dl", place, "--format", "jsonl", "--deltas", "-", stdin=text)
        assert found == (0, delta, "")
    found = cli("apply", "reach.dl", "edge=-", "--format", "csv", "--deltas", "-",
                stdin="op,x,y\n+,3,4\n")  # fmt: skip
    assert found == (0, delta, "")


def test_an_empty_update_has_an_empty_delta(cli: Cli, folder: Path) -> None:
    assert cli("apply", "reach.dl", "-", "--deltas", "-", stdin="commit. commit.") == (
        0,
        "commit.\ncommit.\n",
        "",
    )
    assert cli("apply", "reach.dl", "-", "--deltas", "-") == (0, "", "")
    assert (folder / "path.csv").read_text() == BEFORE


def test_facts_of_a_relation_that_the_same_update_brings(cli: Cli) -> None:
    changes = '+far(x) :- path(x, 3).\n+far(77).\ncommit.\n-rule "{}".\n'
    (name,) = [each for each in _rule_names(cli) if each.startswith("far")]
    code, out, err = cli("apply", "all.dl", "-", "--deltas", "-", stdin=changes.format(name))
    assert (code, err.splitlines()[1:]) == (0, [])
    assert out == "+far(1).\n+far(2).\n+far(77).\ncommit.\n-far(1).\n-far(2).\ncommit.\n"


def _rule_names(cli: Cli) -> list[str]:
    """Of reach.dl without outputs, with one rule more."""
    program = Path("reach.dl").read_text().replace(".output path\n", "")
    Path("all.dl").write_text(program)
    from tidelog import Database

    return list(Database(program + "far(x) :- path(x, 3).\n").rules)


def test_a_program_without_outputs_tells_of_all_relations(cli: Cli) -> None:
    _rule_names(cli)
    found = cli("apply", "all.dl", "-", "--deltas", "-", "--no-warnings", stdin="+edge(3, 4).")
    assert found == (0, "+edge(3, 4).\n+path(1, 4).\n+path(2, 4).\n+path(3, 4).\ncommit.\n", "")


def test_a_program_without_outputs_or_deltas_is_doubtful(cli: Cli) -> None:
    _rule_names(cli)
    found = cli("apply", "all.dl", "-", stdin="+edge(3, 4).")
    assert found == (
        0,
        "",
        "warning: nothing is written\n"
        "    add `.output RELATION` to the program, or --deltas to the command\n",
    )


def test_help_and_text_need_nothing_heavy(folder: Path) -> None:
    assert imported("apply", "--help") | imported("repl", "--help") <= {"numpy"}
    (folder / "a.changes").write_text(CHANGES)
    found = imported("apply", "reach.dl", "a.changes", "--deltas", "d.jsonl", "-D", "out")
    assert found == {"numba", "llvmlite", "numpy"}


# Statistics.


@pytest.mark.parametrize("algorithm", ["recompute", "dred", "bf"])
def test_statistics(cli: Cli, folder: Path, algorithm: str) -> None:
    (folder / "a.changes").write_text(CHANGES)
    options = ("--algorithm", algorithm, "--stats", "s.json", "-D", "out")
    assert cli("apply", "reach.dl", "a.changes", *options) == (0, "", "")
    told = json.loads((folder / "s.json").read_text())
    assert told["program"] == "reach.dl"
    first, second, third = told["commits"]
    assert [each["commit"] for each in told["commits"]] == [1, 2, 3]
    assert first["changes"] == 2
    assert first["delta"] == {"path": {"added": 2, "removed": 2}}
    assert second["delta"] == {"path": {"added": 0, "removed": 1}}
    edge, path = first["strata"]
    assert (edge["relations"], edge["algorithm"]) == (["edge"], "input")
    assert (path["relations"], path["algorithm"]) == (["path"], algorithm)
    assert path["numbers"]
    assert first["numbers"] == path["numbers"]
    assert 0 < path["seconds"] < first["seconds"]
    assert third["instances"] >= 1


# Errors.

NOTE = "    note: 1 update was applied before; no outputs were written\n"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            "+edge(4, x).",
            "<stdin>:3:10: error: expected a constant, got the variable `x`\n"
            "  3 | +edge(4, x).\n"
            '    |          ^ write a constant, such as 1 or "x"\n',
        ),
        (
            "+edge(4, 5)",
            "<stdin>:3:11: error: the change is not complete\n"
            "  3 | +edge(4, 5)\n"
            "    |           ^ end it with `.`; was it cut off?\n",
        ),
        (
            "+p(x) :- path(x, y, z).",
            "<stdin>:3:10: error: relation path has 2 columns, but 3 are given here\n"
            "  3 | +p(x) :- path(x, y, z).\n"
            "    |          ^^^^ declared path(x: number, y: number)\n"
            "    note: declared at reach.dl:3:7\n",
        ),
        (
            "-path(x, y) :- path(y, x).",
            "<stdin>:3:2: error: the program has no such rule\n"
            "  3 | -path(x, y) :- path(y, x).\n"
            "    |  ^^^^ write the text of the rule; only the names of variables may differ\n"
            "    note: there is path(x, y) :- edge(x, y).\n"
            "    note: there is path(x, z) :- path(x, y), edge(y, z).\n",
        ),
        (
            "+path(x, y) :- edge(x, y), !path(y, x).",
            "<stdin>:3:29: error: negation through a cycle: path -> !path\n",
        ),
        (
            "+edge(4, 5). +path(x, y / (y - 5)) :- edge(x, y).",
            "<stdin>:3:15: error: division by zero in the rule\n"
            "    path(x, y / (y - 5)) :- edge(x, y).\n",
        ),
    ],
    ids=["variable", "cut", "arity", "no rule", "cycle", "evaluation"],
)  # fmt: skip
def test_a_fault_rolls_its_update_back(cli: Cli, folder: Path, changes: str, message: str) -> None:
    before = names(folder)
    stdin = f"+edge(3, 4).\ncommit.\n{changes}"
    options = ("--deltas", "-", "-D", "out")
    code, out, err = cli("apply", "reach.dl", "-", *options, stdin=stdin)
    assert (code, out) == (2, "+path(1, 4).\n+path(2, 4).\n+path(3, 4).\ncommit.\n")
    assert err.startswith(message)
    assert err.endswith(NOTE)
    assert names(folder) == before


def test_deltas_of_what_was_committed_are_written(cli: Cli, folder: Path) -> None:
    (folder / "a.changes").write_text("+edge(3, 4).\ncommit.\n+edge(4, 5).\n+egde(5, 6).\n")
    (folder / "path.csv").write_text("of an earlier run\n")
    options = ("--deltas", "d.changes", "--stats", "s.json")
    code, out, err = cli("apply", "reach.dl", "a.changes", *options)
    assert (code, out) == (2, "")
    assert err == (
        "a.changes:4:2: error: unknown relation egde\n"
        "  4 | +egde(5, 6).\n"
        f"    |  ^^^^ did you mean edge?\n{NOTE}"
    )
    deltas = "+path(1, 4).\n+path(2, 4).\n+path(3, 4).\ncommit.\n"
    assert (folder / "d.changes").read_text() == deltas
    assert len(json.loads((folder / "s.json").read_text())["commits"]) == 1
    assert (folder / "path.csv").read_text() == "of an earlier run\n"


def test_a_limit_rolls_back(cli: Cli) -> None:
    changes = "+edge(3, 4).\ncommit.\n+edge(x, y + 1) :- edge(x, y).\n"
    options = ("--deltas", "-", "--max-facts", "1000")
    code, out, err = cli("apply", "reach.dl", "-", *options, stdin=changes)
    assert (code, out.count("commit.")) == (2, 1)
    assert "error: stopped at more than 1,000 facts" in err
    assert err.endswith(NOTE)


def test_strict(cli: Cli) -> None:
    for change, why in [
        ("+edge(1, 2).", "the fact already exists: +edge(1, 2)."),
        ("-edge(1, 3).", "there is no such fact: -edge(1, 3)."),
        ("-path(1, 2).", "the fact is derived, not explicit: -path(1, 2)."),
    ]:
        assert cli("apply", "reach.dl", "-", "--deltas", "-", stdin=change) == (0, "commit.\n", "")
        code, out, err = cli("apply", "reach.dl", "-", "--strict", stdin=change)
        assert (code, out) == (2, "")
        assert err.splitlines()[0] == f"<stdin>:1:2: error: {why}"


def test_dry_run(cli: Cli, folder: Path) -> None:
    before = names(folder)
    changes = "-path(x, z) :- path(x, y), edge(y, z)."
    found = cli("apply", "reach.dl", "-", "--dry-run", "-D", "out", stdin=changes)
    assert found == (0, "-path(1, 3).\ncommit.\n", "")
    assert names(folder) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reach.dl", "-", "-"), "error: the standard input can be read only once\n"),
        (("-", "-"), "error: the standard input can be read only once\n"),
        (
            ("reach.dl", "a.txt"),
            "error: cannot tell the format of the changes from the name a.txt\n"
            "    give it with --format, one of changes, jsonl, csv, parquet\n",
        ),
        (
            ("reach.dl", "a.changes", "--deltas", "a.changes"),
            "error: a.changes cannot be written: it is a file of changes\n"
            "    choose another name\n",
        ),
        (
            ("reach.dl", "a.changes", "--deltas", "reach.dl"),
            "error: reach.dl cannot be written: it is the program\n    choose another name\n",
        ),
        (
            ("reach.dl", "a.changes", "--stats", "edge.facts"),
            "error: edge.facts cannot be written: it is a file of facts\n    choose another name\n",
        ),
        (
            ("reach.dl", "a.changes", "--deltas", "path.csv"),
            "error: path.csv cannot be written: it is an output\n    choose another name\n",
        ),
        (
            ("reach.dl", "a.changes", "--stats", "x", "--deltas", "x"),
            "error: x cannot be written: it is written already\n    choose another name\n",
        ),
        (
            ("reach.dl", "a.changes", "--deltas", "-", "--deltas", "-"),
            "error: deltas can be printed only once\n",
        ),
        (
            ("reach.dl", "a.changes", "--deltas", "edge.csv"),
            "error: edge is not an output, so deltas do not include it\n"
            "    add `.output edge` to the program\n",
        ),
        (
            ("reach.dl", "a.changes", "--deltas", "pth.csv"),
            "error: unknown relation pth of the table pth.csv\n"
            "    did you mean path?\n"
            "    write a table as RELATION=FILE\n",
        ),
        (
            ("reach.dl", "a.changes", "--deltas", "no/d.changes"),
            "error: folder no does not exist\n    create it first\n",
        ),
    ],
)
def test_what_cannot_be(cli: Cli, folder: Path, arguments: tuple[str, ...], message: str) -> None:
    (folder / "a.changes").write_text("+edge(3, 4).")
    before = names(folder)
    assert cli("apply", *arguments) == (2, "", message)
    assert names(folder) == before


def test_outputs_do_not_replace_what_is_read_as_changes(cli: Cli, folder: Path) -> None:
    (folder / "over.dl").write_text(
        '.decl edge(x: number, y: number)\n.output edge(filename="a.changes")\n'
    )
    (folder / "a.changes").write_text("+edge(3, 4).")
    (folder / "link.changes").symlink_to("a.changes")
    for changes in ("a.changes", "./a.changes", "link.changes"):
        assert cli("apply", "over.dl", changes, "--deltas", "-") == (
            2,
            "",
            "over.dl:2:9: error: a.changes is a file of changes, which the output would overwrite\n"
            '  2 | .output edge(filename="a.changes")\n'
            "    |         ^^^^ choose another file name\n",
        )
    assert (folder / "a.changes").read_text() == "+edge(3, 4)."
    assert cli("apply", "over.dl", "a.changes", "--dry-run").code == 0
    (folder / "out").mkdir()
    (folder / "out" / "path.csv").write_text("op,x,y\n+,3,4\n")
    code, out, err = cli("apply", "reach.dl", "edge=out/path.csv", "-D", "out")
    assert (code, out) == (2, "")
    assert "error: out/path.csv is a file of changes" in err
    assert cli("apply", "reach.dl", "edge=out/path.csv", "-D", "new").code == 0


def test_an_update_that_a_file_of_deltas_cannot_hold(cli: Cli, folder: Path) -> None:
    """It is told of nowhere, and the updates before it everywhere."""
    (folder / "n.dl").write_text(".decl n(x: symbol)\n.output n\n")
    changes = '+n("a").\ncommit.\n+n("b\\tc").\ncommit.\n+n("d").\n'
    options = ("--deltas", "-", "--deltas", "n.tsv", "--stats", "s.json")
    assert cli("apply", "n.dl", "-", *options, stdin=changes) == (
        2,
        '+n("a").\ncommit.\n',
        'error: "b\\tc" in n has a tab or a line end: n.tsv cannot hold it\n'
        f"    write n to a .csv, .parquet, .jsonl or .changes file\n{NOTE}",
    )
    assert (folder / "n.tsv").read_text() == "op\tcommit\tx\n+\t1\ta\n"
    assert len(json.loads((folder / "s.json").read_text())["commits"]) == 1
    assert not (folder / "n.csv").exists()


def test_a_missing_file_is_found_when_its_turn_comes(cli: Cli) -> None:
    code, out, err = cli("apply", "reach.dl", "-", "no.changes", "--deltas", "-",
                         stdin="+edge(3, 4).")  # fmt: skip
    assert (code, out.count("commit.")) == (2, 1)
    assert (
        err == f"error: file no.changes does not exist\n    check the name and the folder\n{NOTE}"
    )


def test_facts_and_changes_cannot_share_the_standard_input(cli: Cli, folder: Path) -> None:
    (folder / "in.dl").write_text(".decl p(x: number)\n.input p(IO=stdin)\n.output p\n")
    code, out, err = cli("apply", "in.dl", "-", stdin="+p(1).")
    assert (code, out) == (2, "")
    assert err == (
        "in.dl:2:8: error: the standard input holds changes, so no facts can be read from it\n"
        "  2 | .input p(IO=stdin)\n"
        "    |        ^ put the facts into a file\n"
    )
    (folder / "a.changes").write_text("+p(1).")
    code, out, err = cli("apply", "in.dl", "a.changes", "--deltas", "-", stdin="7\n")
    assert (code, out, err) == (0, "+p(1).\ncommit.\n", "")
    assert (folder / "p.csv").read_text() == "1\n7\n"


def test_an_unknown_algorithm(cli: Cli) -> None:
    code, out, err = cli("apply", "reach.dl", "-", "--algorithm", "dread")
    assert (code, out, err) == (
        2,
        "",
        "error: unknown algorithm 'dread'\n    did you mean dred?\n",
    )


def test_dry_run_writes_statistics(cli: Cli, folder: Path) -> None:
    code, _, err = cli("apply", "reach.dl", "-", "--dry-run", "--stats", "s.json", stdin="commit.")
    assert (code, err) == (0, "")
    assert len(json.loads((folder / "s.json").read_text())["commits"]) == 1
    assert not (folder / "path.csv").exists()


def test_dry_run_writes_no_deltas(cli: Cli) -> None:
    code, out, err = cli("apply", "reach.dl", "-", "--dry-run", "--deltas", "d.changes")
    assert (code, out) == (2, "")
    assert "--dry-run: writes no files, so --deltas can only be -" in err


# Live, with real processes.

UNREAD = (
    "error: the reader of the deltas has closed its input\n"
    "    note: 2 updates were applied; no outputs were written\n"
)


@contextmanager
def live(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    running = subprocess.Popen(
        [*COMMAND, "apply", "reach.dl", "-", "--algorithm", "dred", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    try:
        yield running
    finally:
        running.kill()
        running.wait()
        for stream in (running.stdin, running.stdout, running.stderr):
            assert stream is not None
            stream.close()


def told(running: subprocess.Popen[bytes], text: str) -> str:
    """What the process prints up to the next commit, after it was told something."""
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(text.encode())
    shown = b""
    while not shown.endswith(b"commit.\n"):
        piece = running.stdout.readline()
        assert piece, running.stderr.read() if running.stderr else b""
        shown += piece
    return shown.decode()


def test_a_pipe_stays_live(folder: Path) -> None:
    with live("--deltas", "-") as running:
        assert told(running, "+edge(3, 4).\ncommit.\n").count("+path") == 3
        assert told(running, "-edge(3,\n4). commit.\n+edge(9, 9).\n").count("-path") == 3
        assert told(running, "commit.\n") == "+path(9, 9).\ncommit.\n"
        assert running.stdin is not None
        running.stdin.close()
        assert running.wait(60) == 0
    assert (folder / "path.csv").read_text() == BEFORE + "9\t9\n"


def test_interrupt_while_waiting(folder: Path) -> None:
    before = names(folder)
    with live("--deltas", "-", "-D", "out") as running:
        told(running, "+edge(3, 4).\ncommit.\n")
        assert running.stdin is not None
        assert running.stderr is not None
        running.stdin.write(b"+edge(4, 5).\n")
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        said = running.stderr.read().decode()
    assert said == "interrupted: 1 update was applied before; no outputs were written\n"
    assert names(folder) == before


def test_interrupt_of_an_update(folder: Path) -> None:
    """Deltas of the update before are in their file, and nothing of the one under way."""
    with live("--deltas", "-", "--deltas", "d.changes", "-D", "out") as running:
        told(running, "+edge(3, 4).\ncommit.\n")
        assert running.stdin is not None
        assert running.stderr is not None
        running.stdin.write(b"+edge(x, y + 1) :- edge(x, y).\ncommit.\n")
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(1)
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        said = running.stderr.read().decode()
    assert said == "interrupted: 1 update was applied before; no outputs were written\n"
    assert (folder / "d.changes").read_text().count("+path") == 3
    assert not (folder / "out").exists()
    assert not [name for name in names(folder) if name.endswith(".tmp")]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("-D", "out"), 1, UNREAD),
        (("-D", "-", "--deltas", "d.changes"), 1, UNREAD),
        (("-D", "-"), 0, ""),
        (("--dry-run",), 0, ""),
    ],
)
def test_a_reader_that_has_seen_enough(
    folder: Path, options: tuple[str, ...], code: int, said: str
) -> None:
    """Then no changes are read any more, and files that lack something are no success."""
    with live("--deltas", "-", *options) as running:
        told(running, "+edge(3, 4).\ncommit.\n")
        assert running.stdout is not None
        assert running.stdin is not None
        assert running.stderr is not None
        running.stdout.close()
        running.stdin.write(b"-edge(3, 4).\ncommit.\n")
        assert running.wait(60) == code  # the standard input is still open
        assert running.stderr.read().decode() == said
    assert not (folder / "out").exists()
    if "d.changes" in options:
        assert (folder / "d.changes").read_text().count("commit.") == 2


def test_progress_at_a_terminal(folder: Path) -> None:
    """How the stream is doing, and inside a long update what that is at."""
    ours, theirs = os.openpty()
    options = ("--algorithm", "dred", "--max-seconds", "1.5", "--deltas", "-")
    running = subprocess.Popen(
        [*ticking(0.005), "apply", "reach.dl", "-", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
        bufsize=0,
    )
    os.close(theirs)
    for sign in "+-" * 5:
        told(running, f"{sign}edge(3, 4). commit.\n")
    shown = read_until(ours, b"10 updates, 0 waiting, ")
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(b"+edge(x, y + 1) :- edge(x, y). commit.\n")
    running.stdin.close()
    shown = (shown + read_until(ours)).decode()
    assert running.wait(60) == 2
    running.stdout.close()
    os.close(ours)
    counts = r"10 updates, 0 waiting, [\d,]+/s, 30 facts changed, latency [\d.]+ m?s"
    assert re.search(rf"\r<stdin>: {counts}\x1b\[K", shown)
    assert "\redge, round " in shown
    last = shown.rpartition("\x1b[K")[2]
    assert last.startswith("<stdin>:11:2: error: stopped at more than 1.5 seconds")

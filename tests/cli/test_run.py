"""`tidelog run`: what it reads, writes and refuses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, names
from tests.clock import Clock
from tidelog.control.limits import LimitWatch
from tidelog.oracle import evaluate

PATHS = "1\t2\n1\t3\n2\t3\n"
PRINTED = f"---------------\npath\nx\ty\n===============\n{PATHS}===============\n"


def test_it_reads_and_writes_in_the_current_folder(cli: Cli, folder: Path) -> None:
    assert cli("run", "reach.dl") == (0, "", "")
    assert (folder / "path.csv").read_text() == PATHS


def test_other_folders_can_be_given(cli: Cli, folder: Path) -> None:
    (folder / "facts").mkdir()
    (folder / "edge.facts").rename(folder / "facts" / "edge.facts")
    before = names(folder)
    assert cli("run", "reach.dl", "-F", "facts", "-D", "new") == (0, "", "")
    assert (folder / "new" / "path.csv").read_text() == PATHS
    assert names(folder) - before == {"new"}


def test_a_dash_prints_outputs(cli: Cli, folder: Path) -> None:
    before = names(folder)
    assert cli("run", "reach.dl", "-D", "-") == (0, PRINTED, "")
    assert names(folder) == before


def test_printsize(cli: Cli, folder: Path) -> None:
    (folder / "size.dl").write_text("p(1). p(2). .printsize p\n")
    assert cli("run", "size.dl") == (0, "p\t2\n", "")


def test_the_program_may_come_from_stdin(cli: Cli) -> None:
    assert cli("run", "-", "-D", "-", stdin="p(1). .output p\n").out.splitlines()[-2] == "1"


def test_facts_may_come_from_stdin(cli: Cli, folder: Path) -> None:
    text = (folder / "reach.dl").read_text().replace(".input edge", ".input edge(IO=stdin)")
    (folder / "reach.dl").write_text(text)
    assert cli("run", "reach.dl", "-D", "-", stdin="1\t2\n2\t3\n").out == PRINTED


def test_but_not_both(cli: Cli) -> None:
    program = ".decl e(x: number)\n.input e(IO=stdin)\n.output e\n"
    assert cli("run", "-", stdin=program) == (
        2,
        "",
        "<stdin>:2:8: error: the standard input holds the program, so no facts can be read from "
        "it\n"
        "  2 | .input e(IO=stdin)\n"
        "    |        ^ put the program into a file\n",
    )


def test_a_program_on_stdin_may_include_its_neighbours_only(cli: Cli, folder: Path) -> None:
    (folder / "p.dl").write_text("p(1).\n")
    assert cli("run", "-", "-D", "-", stdin='.include "p.dl"\n.output p\n').code == 0
    (folder / "inner").mkdir()
    os.chdir(folder / "inner")
    refused = cli("run", "-", "-D", "-", stdin='.include "../p.dl"\n.output p\n')
    assert refused.code == 2
    assert "../p.dl is outside the program's folder" in refused.err
    allowed = cli("run", "-", "-D", "-", "--allow-paths", stdin='.include "../p.dl"\n.output p\n')
    assert allowed.code == 0


def test_bad_bytes_on_stdin(cli: Cli) -> None:
    assert cli("run", "-", stdin=b"p(1).\nq(\xff).\n") == (
        2,
        "",
        "<stdin>:2:3: error: byte 0xff is not UTF-8\n"
        "  2 | q(\N{REPLACEMENT CHARACTER}).\n"
        "    |   ^ save the file as UTF-8\n",
    )


# Warnings.


def test_warnings_go_to_stderr_unless_unwanted(cli: Cli, folder: Path) -> None:
    (folder / "w.dl").write_text("p(1, 2).\nq(x) :- p(x, y).\n.output q\n")
    shown = cli("run", "w.dl")
    assert shown.code == 0
    assert shown.err.startswith("w.dl:2:14: warning: ")
    assert cli("run", "w.dl", "--no-warnings") == (0, "", "")


def test_a_program_without_outputs_is_told_so(cli: Cli, folder: Path) -> None:
    (folder / "p.dl").write_text("p(1).\n")
    told = "warning: the program has no outputs\n    add `.output RELATION`\n"
    assert cli("run", "p.dl") == (0, "", told)
    assert cli("run", "p.dl", "--no-warnings") == (0, "", "")


def test_a_file_that_would_not_read_back_is_told_of(cli: Cli, folder: Path) -> None:
    (folder / "t.dl").write_text('p("a\\nb").\n.output p\n')
    code, out, err = cli("run", "t.dl")
    assert (code, out) == (0, "")
    assert err.startswith("t.dl:2:9: warning: ")
    assert (folder / "p.csv").read_text() == "a\nb\n"
    assert cli("run", "t.dl", "--no-warnings") == (0, "", "")


# What is refused, always with code 2, a message and nothing written.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.dl"], "error: cannot read none.dl: no such file or directory\n"),
        (["."], "error: cannot read .: is a directory\n"),
        (
            ["reach.dl", "-F", "nowhere"],
            "reach.dl:2:8: error: no facts for `edge`: file nowhere/edge.facts does not exist\n"
            "  2 | .input edge\n"
            "    |        ^^^^ check the name and the folder\n",
        ),
        (
            ["reach.dl", "-D", "a/b"],
            "error: the output folder a/b cannot be created: there is no folder a\n"
            "    create it first\n",
        ),
        (["reach.dl", "-D", "edge.facts"], "error: the output folder edge.facts is not a folder\n"),
        (
            ["reach.dl", "--profile", "a/b.txt"],
            "error: folder a does not exist\n    create it first\n",
        ),
    ],
)
def test_bad_paths(cli: Cli, folder: Path, arguments: list[str], message: str) -> None:
    before = names(folder)
    code, out, err = cli("run", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(message)
    assert names(folder) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "tidelog run: error: the following arguments are required: PROGRAM.dl"),
        (["x.dl", "--frob"], "tidelog run: error: unrecognized arguments: --frob"),
        (["x.dl", "--max", "3"], "tidelog run: error: unrecognized arguments: --max 3"),
        (
            ["x.dl", "--max-facts", "0"],
            "tidelog run: error: argument --max-facts: '0' is not a whole number above 0",
        ),
        (
            ["x.dl", "--max-facts", "many"],
            "tidelog run: error: argument --max-facts: 'many' is not a whole number above 0",
        ),
        (
            ["x.dl", "--max-seconds", "nan"],
            "tidelog run: error: argument --max-seconds: 'nan' is not a number above 0",
        ),
        (
            ["x.dl", "--max-memory", "2X"],
            "tidelog run: error: argument --max-memory: '2X' is not a size; write it as 512M or 2G",
        ),
        (
            ["--profile", "a.dl", "b.dl"],
            "tidelog run: error: argument --profile: a.dl would be overwritten; put --profile last",
        ),
    ],
)
def test_bad_options(cli: Cli, arguments: list[str], message: str) -> None:
    code, out, err = cli("run", *arguments)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == message


def test_no_command_and_an_unknown_one(cli: Cli) -> None:
    assert cli().err.splitlines()[-1] == (
        "tidelog: error: the following arguments are required: COMMAND"
    )
    assert "invalid choice: 'frob'" in cli("frob").err
    assert cli("frob").code == cli().code == cli("--frob").code == 2


def test_all_faults_of_directives_at_once(cli: Cli, folder: Path) -> None:
    (folder / "d.dl").write_text(
        '.decl p(x: number)\n.output p(filename="../p.csv")\n.input p(filename="/p.facts")\n'
    )
    assert cli("run", "d.dl") == (
        2,
        "",
        'd.dl:2:9: error: the file "../p.csv" lies outside the folder .\n'
        '  2 | .output p(filename="../p.csv")\n'
        "    |         ^ name a file inside it, or run with --allow-paths\n"
        'd.dl:3:8: error: the file "/p.facts" lies outside the folder .\n'
        '  3 | .input p(filename="/p.facts")\n'
        "    |        ^ name a file inside it, or run with --allow-paths\n",
    )


def test_paths_are_allowed_on_request(cli: Cli, folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "d.dl").write_text('p(1). .output p(filename="../p.csv")\n')
    assert cli("run", "inner/d.dl", "-D", "inner", "--allow-paths").code == 0
    assert (folder / "p.csv").read_text() == "1\n"


def test_what_cannot_be_written_is_known_before_evaluation(cli: Cli, folder: Path) -> None:
    (folder / "endless.dl").write_text(
        (folder / "endless.dl").read_text().replace(".output n", '.output n(filename="sub/n")')
    )
    before = names(folder)
    assert cli("run", "endless.dl") == (
        2,
        "",
        "endless.dl:2:9: error: `n` cannot be written: folder sub does not exist\n"
        '  2 | .output n(filename="sub/n")\n'
        "    |         ^ create it first\n",
    )
    assert names(folder) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_folder(cli: Cli, folder: Path) -> None:
    out = folder / "out"
    out.mkdir(mode=0o500)
    code, _, err = cli("run", "endless.dl", "-D", "out")
    assert code == 2
    assert "file out/n.csv may not be written" in err


def test_one_output_that_fails_leaves_none(cli: Cli, folder: Path) -> None:
    (folder / "t.dl").write_text("p(1). q(2). r(3).\n.output p, q, r\n")
    (folder / "out" / "q.csv").mkdir(parents=True)
    code, out, err = cli("run", "t.dl", "-D", "out")
    assert (code, out) == (2, "")
    assert "`q` cannot be written: out/q.csv is a folder" in err
    assert names(folder / "out") == {"q.csv"}


def test_a_fault_in_the_facts(cli: Cli, folder: Path) -> None:
    (folder / "edge.facts").write_text("1\t2\n2\tx\n")
    code, _, err = cli("run", "reach.dl")
    assert code == 2
    assert err.startswith("edge.facts:2:3: error: ")
    assert not (folder / "path.csv").exists()


def test_division_by_zero(cli: Cli, folder: Path) -> None:
    (folder / "z.dl").write_text("p(0).\nq(1 / x) :- p(x).\n.output q\n")
    assert cli("run", "z.dl") == (
        2,
        "",
        "z.dl:2:1: error: division by zero in the rule\n    q(1 / x) :- p(x).\n",
    )


# Limits.


def test_a_limit_on_facts(cli: Cli, folder: Path) -> None:
    before = names(folder)
    assert cli("run", "endless.dl", "-D", "out", "--max-facts", "1000") == (
        2,
        "",
        "endless.dl:4:1: error: stopped at more than 1,000 facts, in round 1001 of n, in the rule\n"
        "    n(x + 1) :- n(x).\n"
        "    a larger limit is set by --max-facts\n",
    )
    assert names(folder) == before


def test_a_limit_on_seconds(cli: Cli, folder: Path, clock: Clock) -> None:
    clock.late_in("n")
    before = names(folder)
    code, out, err = cli("run", "endless.dl", "--max-seconds", "0.3")
    assert (code, out) == (2, "")
    assert err.startswith("endless.dl:4:1: error: stopped at more than 0.3 seconds, in round ")
    assert err.endswith(
        " of n, in the rule\n    n(x + 1) :- n(x).\n    a larger limit is set by --max-seconds\n"
    )
    assert names(folder) == before


def test_a_limit_on_memory(cli: Cli, clock: Clock) -> None:
    clock.late_at(LimitWatch, "stratum")
    code, out, err = cli("run", "endless.dl", "--max-memory", "1M")
    assert (code, out) == (2, "")
    assert "error: stopped at more than 1 MiB of memory, in round 1 of n" in err


# The profile.


def test_a_profile_is_a_table_and_a_page(cli: Cli, folder: Path) -> None:
    code, out, err = cli("run", "reach.dl", "-D", "out", "--profile")
    assert (code, out) == (0, "")
    lines = err.splitlines()
    assert lines[0].split() == ["seconds", "share", "instances", "facts", "rounds", "rule"]
    assert lines[-1] == "profile: out/reach.profile.html"
    page = (folder / "out" / "reach.profile.html").read_text()
    assert "path(x, z) :- path(x, y), edge(y, z)." in page
    assert names(folder / "out") == {"path.csv", "reach.profile.html"}


def test_a_profile_may_go_to_a_file(cli: Cli, folder: Path) -> None:
    assert cli("run", "reach.dl", "--profile", "p.txt") == (0, "", "profile: p.html\n")
    table = (folder / "p.txt").read_text()
    assert "path(x, z) :- path(x, y), edge(y, z).  (reach.dl:6)" in table
    assert (folder / "p.html").read_text().startswith("<!DOCTYPE html>")


def test_a_profile_may_be_a_page_alone(cli: Cli, folder: Path) -> None:
    before = names(folder)
    code, _, err = cli("run", "reach.dl", "-D", "-", "--profile", "page.html")
    assert (code, err.splitlines()[-1]) == (0, "profile: page.html")
    assert names(folder) - before == {"page.html"}


def test_the_option_before_the_program(cli: Cli, folder: Path) -> None:
    assert cli("run", "--profile", "reach.dl").code == 0
    assert (folder / "reach.profile.html").exists()


# The check.


def test_a_check_that_passes(cli: Cli, folder: Path) -> None:
    assert cli("run", "reach.dl", "--check") == (
        0,
        "",
        "checked: 5 facts, the same by naive evaluation\n",
    )
    assert (folder / "path.csv").read_text() == PATHS


def test_a_check_that_fails_prints_changes_and_writes_nothing(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = evaluate.evaluate

    def other(*arguments: object) -> dict[str, set[tuple[int, ...]]]:
        found = right(*arguments)  # type: ignore[arg-type]
        found["path"] = (found["path"] - {(1, 3)}) | {(7, 8)}
        return found  # type: ignore[return-value]

    monkeypatch.setattr(evaluate, "evaluate", other)
    before = names(folder)
    assert cli("run", "reach.dl", "-D", "out", "--check") == (
        1,
        "-path(1, 3).\n+path(7, 8).\n",
        "error: naive evaluation differs by 2 facts; nothing was written\n"
        "    please report it: the changes above would correct the answer\n",
    )
    assert names(folder) == before


# Faults of our own.


def test_a_fault_in_tidelog_is_no_traceback(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(evaluate, "check", broken)
    assert cli("run", "reach.dl", "-D", "out", "--check") == (
        2,
        "",
        "error: internal error in Tidelog: KeyError: 'oops'\n"
        "    please report it, with the program and the traceback that\n"
        "    TIDELOG_TRACEBACK=1 in the environment prints\n",
    )
    assert "out" not in names(folder)
    monkeypatch.setenv("TIDELOG_TRACEBACK", "1")
    with pytest.raises(KeyError):
        cli("run", "reach.dl", "--check")

"""`tidelog check`: everything at once, and nothing is evaluated."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli, names


def test_a_sound_program(cli: Cli, folder: Path) -> None:
    before = names(folder)
    assert cli("check", "reach.dl") == (0, "reach.dl: 0 errors, 0 warnings\n", "")
    assert cli("check", "endless.dl").code == 0
    assert names(folder) == before


def test_errors_and_warnings_in_the_order_of_the_text(cli: Cli, folder: Path) -> None:
    (folder / "bad.dl").write_text(
        ".decl p(x: number)\n"
        ".decl q(x: number, y: number)\n"
        "p(z) :- q(x, _).\n"
        "p(x) :- q(x, y).\n"
        "p(x) :- r(x).\n"
    )
    code, out, err = cli("check", "bad.dl")
    assert (code, out) == (2, "bad.dl: 2 errors, 1 warning\n")
    heads = [line for line in err.splitlines() if line.startswith("bad.dl:")]
    assert [head.split(" ")[:2] for head in heads] == [
        ["bad.dl:3:3:", "error:"],
        ["bad.dl:4:14:", "warning:"],
        ["bad.dl:5:9:", "error:"],
    ]


def test_warnings_alone_are_no_failure(cli: Cli, folder: Path) -> None:
    (folder / "w.dl").write_text("p(1, 2).\nq(x) :- p(x, y).\n")
    code, out, err = cli("check", "w.dl")
    assert (code, out) == (0, "w.dl: 0 errors, 1 warning\n")
    assert err.startswith("w.dl:2:14: warning: ")


def test_faults_of_directives_count(cli: Cli, folder: Path) -> None:
    (folder / "d.dl").write_text("p(1).\n.output p(IO=tape)\n.input p(filenam=x)\n")
    assert cli("check", "d.dl") == (
        2,
        "d.dl: 2 errors, 0 warnings\n",
        "d.dl:2:9: error: unknown format `IO=tape`\n"
        "  2 | .output p(IO=tape)\n"
        "    |         ^ use IO=file or IO=stdout or IO=stdoutprintsize or IO=json or IO=jsonfile "
        "or IO=sqlite; formats that Spark knows (parquet, json, delta, …) need --engine spark\n"
        "d.dl:3:8: error: `.input` has no parameter `filenam`\n"
        "  3 | .input p(filenam=x)\n"
        "    |        ^ did you mean filename?\n",
    )


def test_several_programs(cli: Cli) -> None:
    assert cli("check", "reach.dl", "none.dl", "endless.dl") == (
        2,
        "reach.dl: 0 errors, 0 warnings\n"
        "none.dl: 1 error, 0 warnings\n"
        "endless.dl: 0 errors, 0 warnings\n",
        "error: cannot read none.dl: no such file or directory\n",
    )


def test_a_program_on_stdin(cli: Cli) -> None:
    assert cli("check", "-", stdin="p(1)") == (
        2,
        "-: 1 error, 0 warnings\n",
        cli("run", "-", stdin="p(1)").err,
    )
    assert cli("check", "-", "-") == (2, "", "error: the standard input can be read only once\n")


def test_paths_outside(cli: Cli, folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "i.dl").write_text('.include "../reach.dl"\n')
    assert cli("check", "inner/i.dl").code == 2
    assert cli("check", "inner/i.dl", "--allow-paths").code == 0


def test_macros_and_folders_of_includes(folder: Path, cli: Cli) -> None:
    (folder / "lib").mkdir()
    (folder / "lib" / "base.dl").write_text(".decl a(x: number)\na(LIMIT).\n")
    (folder / "m.dl").write_text('#include "base.dl"\n#ifdef DEBUG\na("x").\n#endif\n')
    assert cli("check", "m.dl", "-I", "lib", "-M", "LIMIT=3").code == 0
    both = cli("check", "m.dl", "-I", "lib", "-M", "LIMIT=3 DEBUG")
    assert both.code == 2
    assert both.err.startswith('m.dl:3:3: error: "x" is a symbol, but a number is needed here')
    assert "cannot find the file base.dl" in cli("check", "m.dl").err
    assert "'1=2' is not a macro; write it as LIMIT=10" in cli("check", "m.dl", "-M", "1=2").err
    assert "'none' is not a folder" in cli("check", "m.dl", "-I", "none").err


def test_a_relation_whose_only_rule_cannot_be_read(cli: Cli, folder: Path) -> None:
    (folder / "h.dl").write_text("q(1).\nhub(a) :- q(a.\n.output hub\n")
    assert cli("check", "h.dl") == (
        2,
        "h.dl: 1 error, 0 warnings\n",
        "h.dl:2:11: error: the `(` of `q` is not closed before `.`\n"
        "  2 | hub(a) :- q(a.\n"
        "    |           ^ close it with `)`\n",
    )


def test_a_wrong_value_in_a_fact_is_pointed_at(cli: Cli, folder: Path) -> None:
    (folder / "e.dl").write_text('.decl e(x: number, y: number)\ne(1, "a").\ne(1,\n  "b c" ).\n')
    assert cli("check", "e.dl").err == (
        'e.dl:2:6: error: "a" is a symbol, but a number is needed here\n'
        '  2 | e(1, "a").\n'
        "    |      ^^^ argument 2 of e is a number\n"
        'e.dl:4:3: error: "b c" is a symbol, but a number is needed here\n'
        '  4 |   "b c" ).\n'
        "    |   ^^^^^ argument 2 of e is a number\n"
    )

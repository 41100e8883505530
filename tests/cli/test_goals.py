"""`--goal`: answers, and no more work than they need."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli, names


def test_it_prints_answers_and_writes_nothing(cli: Cli, folder: Path) -> None:
    before = names(folder)
    assert cli("run", "reach.dl", "--goal", "path(1, x)") == (0, "x\n2\n3\n// 2 rows\n", "")
    asked = ("--goal", "path(1, 3).", "--goal", "path(x, 2), edge(x, y)", "--goal", "path(3, x)")
    assert cli("run", "reach.dl", *asked) == (
        0,
        "?path(1, 3).\ntrue\n?path(x, 2), edge(x, y).\nx  y\n1  2\n// 1 row\n?path(3, x).\nx\n"
        "// 0 rows\n",
        "",
    )
    assert names(folder) == before


def test_records_and_branches_are_printed_as_in_files(cli: Cli, folder: Path) -> None:
    (folder / "way.dl").write_text(
        ".type Way = [to: number, before: Way]\n.type Found = No {} | Yes { by: symbol, w: Way }\n"
        ".decl f(x: number, w: Way, y: Found)\n"
        'f(1, nil, $No). f(10, [2, [1, nil]], $Yes("a, b", nil)).\n'
    )
    expected = """\
 x  w              y
 1  nil            $No
10  [2, [1, nil]]  $Yes("a, b", nil)
// 2 rows
"""
    assert cli("run", "way.dl", "--goal", "f(x, w, y)") == (0, expected, "")


def test_only_what_is_needed_is_read_and_evaluated(cli: Cli, folder: Path) -> None:
    text = (folder / "reach.dl").read_text()
    endless = ".decl n(x: number)\nn(0). n(x + 1) :- n(x).\n.decl big(x: number)\n.input big\n"
    (folder / "more.dl").write_text(
        text + endless + ".output n\nw(x) :- path(2, x), !b(x). b(x) :- big(x).\n"
    )
    assert cli("run", "more.dl", "--goal", "path(1, x), x > 2").out == "x\n3\n// 1 row\n"
    result = cli("run", "more.dl", "--goal", "w(x)")
    assert result.code == 2
    assert "big.facts" in result.err
    (folder / "big.facts").write_text("4\n")
    assert cli("run", "more.dl", "--goal", "w(x)").out == "x\n3\n// 1 row\n"
    assert cli("run", "more.dl", "--goal", "n(x)", "--max-facts", "50").code == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--goal", "path(1, x), y > z"),
            "<query>:1:13: error: variable y is in no positive body atom",
        ),
        (("--goal", "paths(1, x)"), "<query>:1:1: error: unknown relation paths"),
        (("--goal", "path(1, x"), "<query>:1:"),
        (("--goal", ""), "error: "),
        (("--goal", "path(1, x)", "--check"), "argument --goal: not with --check"),
        (("--goal", "path(1, x)", "--engine", "spark"), "--goal: only with --engine local"),
    ],
)
def test_errors_point_into_the_goal(cli: Cli, options: tuple[str, ...], message: str) -> None:
    result = cli("run", "reach.dl", *options)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


def test_plan_shows_the_rules(cli: Cli) -> None:
    result = cli("plan", "reach.dl", "--goal", "path(1, x)")
    assert result == (
        0,
        "stratum 1: need:path^bf\n"
        "    need:path^bf(1).\n"
        "        join order: once\n"
        "stratum 2, given: edge\n"
        "stratum 3, recursive: path^bf\n"
        "    path^bf(x, y) :- need:path^bf(x), edge(x, y).\n"
        "        join order: each edge, has need:path^bf\n"
        "    path^bf(x, z) :- need:path^bf(x), path^bf(x, y), edge(y, z).\n"
        "        join order: each need:path^bf, each edge, has path^bf\n"
        "stratum 4: goal1\n"
        "    goal1(x) :- path^bf(1, x).\n"
        "        join order: path^bf[1]\n",
        "",
    )


MAGIC = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number) magic
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
.decl from(x: number)
from(y) :- path(2, y).
.output from
"""


def test_magic_narrows_what_outputs_need(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = "".join(f"{i}\t{i + 1}\n" for i in range(200))
    (folder / "edge.facts").write_text(chain)
    pragma = '.pragma "magic-transform" "*"\n'
    plain = MAGIC.replace(" magic", "")
    expected = "".join(f"{i}\n" for i in range(3, 201))
    for text, few in (
        (MAGIC, True),
        (plain, False),
        (pragma + plain, True),
        (pragma.replace("*", "path, from") + plain, True),
        (
            pragma
            + plain.replace("path(x: number, y: number)", "path(x: number, y: number) no_magic"),
            False,
        ),
        (MAGIC + ".output path\n", False),
    ):
        (folder / "magic.dl").write_text(text)
        result = cli("run", "magic.dl", "--max-facts", "2000")
        assert (result.code == 0) is few, text
        if few:
            assert (folder / "from.csv").read_text() == expected
            (folder / "from.csv").unlink()
    (folder / "edge.facts").write_text("1\t2\n2\t3\n3\t3\n")
    (folder / "magic.dl").write_text(MAGIC)
    assert "the same by naive" in cli("run", "magic.dl", "--check").err

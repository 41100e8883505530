"""`tidelog plan`: as text and as pictures."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree

from tests.cli.conftest import COMMAND, Cli, names

UNKNOWN = """\
stratum 1, given: edge
stratum 2, recursive: path
  module: left-linear path over edge   (path(x, z) :- path(x, y), edge(y, z).)
    path(x, y) :- edge(x, y).
        join order: each edge
    path(x, z) :- path(x, y), edge(y, z).
        join order: each path, edge[1]
"""


def test_without_facts(cli: Cli, folder: Path) -> None:
    (folder / "edge.facts").unlink()
    assert cli("plan", "reach.dl") == (0, UNKNOWN, "")


def test_facts_give_sizes_and_may_change_the_order(cli: Cli, folder: Path) -> None:
    (folder / "j.dl").write_text(
        ".decl a(x: number)\n.decl b(x: number)\n.input a, b\nc(x) :- a(x), b(x).\n.output c\n"
    )
    (folder / "a.facts").write_text("".join(f"{x}\n" for x in range(1000)))
    (folder / "b.facts").write_text("7\n")
    before = names(folder)
    code, out, err = cli("plan", "j.dl", "-F", ".")
    assert (code, err) == (0, "")
    assert set(out.splitlines()[:2]) == {
        "stratum 1, given: a (1,000 facts)",
        "stratum 2, given: b (1 fact)",
    }
    assert out.splitlines()[2:] == [
        "stratum 3: c (1 fact)",
        "    c(x) :- a(x), b(x).",
        "        join order: each b, has a",
    ]
    assert names(folder) == before


def test_closures(cli: Cli, folder: Path) -> None:
    (folder / "c.dl").write_text(
        ".decl same(x: number, y: number) eqrel\n"
        ".decl below(x: number, y: number) transitive\n"
        "same(1, 2). below(1, 2).\n"
    )
    code, out, _ = cli("plan", "c.dl")
    assert code == 0
    assert out.splitlines()[-2:] == [
        "closure: same is an equivalence (eqrel)",
        "closure: below is transitive",
    ]


def test_modules(cli: Cli, folder: Path) -> None:
    (folder / "m.dl").write_text(
        ".decl same(x: number, y: number)\n"
        ".decl path(x: number, y: number)\n"
        "same(y, x) :- same(x, y).\n"
        "same(a, c) :- same(b, c), same(a, b).\n"
        "same(x, 0) :- same(x, x).\n"
        "path(x, z) :- path(x, y), same(z, y).\n"
        "path(x, y) :- same(y, x).\n"
        ".decl far(x: number, y: number)\n"
        "far(x, z) :- far(x, y), same(y, z).\n"  # not all of same: no algorithm of its own
    )
    code, out, err = cli("plan", "m.dl")
    assert (code, err) == (0, "")
    assert [line for line in out.splitlines() if not line.startswith("    ")] == [
        "stratum 1, recursive: same",
        "  module: symmetric-transitive same   "
        "(same(y, x) :- same(x, y). same(a, c) :- same(b, c), same(a, b).)",
        "stratum 2, recursive: path",
        "  module: left-linear path over same with columns swapped   "
        "(path(x, z) :- path(x, y), same(z, y).)",
        "stratum 3, recursive: far",
    ]


def test_the_modules_of_lubm(cli: Cli) -> None:
    program = Path(__file__).parent.parent.parent / "bench" / "streams" / "lubm" / "lubm.dl"
    code, out, err = cli("plan", str(program))
    assert (code, err) == (0, "")
    found = [line.split("   ")[0] for line in out.splitlines() if line.startswith("  module:")]
    assert found == [
        "  module: transitive a1_subOrganizationOf",
        "  module: symmetric-transitive a1_connectedCourses",
        "  module: symmetric-transitive a1_colleagues",
    ]


def test_parts_of_rules_are_shown_as_such(cli: Cli, folder: Path) -> None:
    (folder / "h.dl").write_text("a(1). b(1). c(n) :- n = count : { a(x), b(x) }.\n")
    code, out, _ = cli("plan", "h.dl")
    assert code == 0
    assert "(a part of rules)" in out


def test_an_empty_program(cli: Cli) -> None:
    assert cli("plan", "-", stdin="// nothing\n") == (0, "the program has no relations\n", "")


def test_pictures(cli: Cli, folder: Path) -> None:
    before = names(folder)
    assert cli("plan", "reach.dl", "--svg", "p.svg", "--dot", "p.dot") == (0, UNKNOWN, "")
    assert names(folder) - before == {"p.svg", "p.dot"}
    assert ElementTree.parse(folder / "p.svg").getroot().tag.endswith("svg")
    assert (folder / "p.dot").read_text().startswith("digraph program {")


def test_a_picture_that_cannot_be_written(cli: Cli, folder: Path) -> None:
    before = names(folder)
    assert cli("plan", "reach.dl", "--svg", "no/p.svg", "--dot", "p.dot") == (
        2,
        "",
        "error: folder no does not exist\n    create it first\n",
    )
    assert names(folder) == before


def test_bad_programs_and_facts(cli: Cli, folder: Path) -> None:
    (folder / "bad.dl").write_text("p(x) :- q(x.\n")
    assert cli("plan", "bad.dl").code == 2
    assert cli("plan", "reach.dl", "-F", "nowhere").code == 2
    limited = cli("plan", "endless.dl", "-F", ".", "--max-facts", "10")
    assert limited.code == 2
    assert "stopped at more than 10 facts" in limited.err


def test_pictures_are_written_when_nobody_reads_the_lines(folder: Path) -> None:
    rules = "".join(f"p{i}(x) :- p{i + 1}(x).\n" for i in range(5_000))  # more than a pipe holds
    (folder / "long.dl").write_text(f".decl p5000(x: number)\n{rules}")
    command = [*COMMAND, "plan", "long.dl", "--dot", "p.dot"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"stratum 1, given: p5000\n"
        process.stdout.close()
    assert "p4999" in (folder / "p.dot").read_text()


def test_strata_have_the_same_numbers_in_plans_and_profiles(cli: Cli, folder: Path) -> None:
    (folder / "two.dl").write_text(
        ".decl a(x: number)\n.decl b(x: number)\na(1).\nb(2).\n"
        "c(x) :- a(x).\nd(x) :- c(x), !b(x).\n.output d\n"
    )
    _, planned, _ = cli("plan", "two.dl")
    _, _, profiled = cli("run", "two.dl", "--profile")
    numbers = {
        name: line.split()[1].strip(",:")
        for line in planned.splitlines()
        for name in "cd"
        if line.startswith("stratum") and line.endswith(f": {name}")
    }
    assert set(numbers) == {"c", "d"}
    for name, number in numbers.items():
        assert any(line.endswith(f"  {number}: {name}") for line in profiled.splitlines()), profiled


def test_a_picture_is_a_file(cli: Cli, folder: Path) -> None:
    before = names(folder)
    for option in ("--svg", "--dot"):
        code, out, err = cli("plan", "reach.dl", option, "-")
        assert (code, out) == (2, "")
        assert err == "error: this cannot be written to the standard output\n    name a file\n"
    assert names(folder) == before

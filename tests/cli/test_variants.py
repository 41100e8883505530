"""What files can be, limits on recursion, and components, at the command line and from Python."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, names
from tidelog import Database
from tidelog.program.diagnostics import TidelogError

VARIANTS = """\
.decl edge(x: number, y: number)
.input edge(IO=sqlite, filename="e.db")
.input edge(IO=jsonfile, filename="e.json.gz")
.decl path(x: number, y: number)
.output path(IO=sqlite, filename="out.db")
.output path(IO=jsonfile, format=object)
.output path(rfc4180=true, headers=true)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def test_variants_are_files_like_others(cli: Cli, folder: Path) -> None:
    (folder / "v.dl").write_text(VARIANTS)
    (folder / "w.dl").write_text(
        '.decl edge(x: number, y: number)\nedge(1, 2).\n.output edge(IO=sqlite, filename="e.db")\n'
        '.output edge(IO=jsonfile, filename="e.json.gz")\n'
    )
    assert cli("run", "w.dl") == (0, "", "")
    changes = "+edge(2, 3).\ncommit.\n"
    assert cli("apply", "v.dl", "-", "-D", "out", stdin=changes) == (0, "", "")
    assert names(folder / "out") == {"out.db", "path.json", "path.csv"}
    assert (folder / "out" / "path.csv").read_text() == "x,y\n1,2\n1,3\n2,3\n"
    assert (folder / "out" / "path.json").read_text().endswith('{"x": 2, "y": 3}]\n')
    with sqlite3.connect(folder / "out" / "out.db") as database:
        assert database.execute("SELECT * FROM path").fetchall() == [(1, 2), (1, 3), (2, 3)]
    database.close()
    code, out, _ = cli("repl", "v.dl", stdin="?path(1, x).\n+edge(2, 9).\ncommit.\n")
    assert (code, out) == (
        0,
        "x\n2\n// 1 row\n+path(1, 9).\n+path(2, 9).\n// 2 facts inserted, 0 facts deleted\n",
    )
    before = (folder / "out" / "out.db").read_bytes()
    (folder / "e.json.gz").write_bytes(b"\x1f\x8bno")
    code, out, err = cli("run", "v.dl", "-D", "out")
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == (
        "v.dl:3:8: error: no facts for `edge`: file e.json.gz holds damaged gzip data"
    )
    assert (folder / "out" / "out.db").read_bytes() == before


def test_recursion_ends_at_a_limit(cli: Cli, folder: Path) -> None:
    """As in Soufflé: the round that reaches the limit is whole, and the next one is left out."""
    chain = "".join(f"edge({n}, {n + 1}). " for n in range(10))
    (folder / "l.dl").write_text(
        ".decl edge, path(x: number, y: number)\n"
        f"{chain}\npath(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).\n"
        ".limitsize path(n=11)\n.limitsize edge(n=1)\n.printsize path\n.printsize edge\n"
    )
    assert cli("run", "l.dl") == (0, "path\t19\nedge\t10\n", "")
    assert cli("run", "l.dl", "--check").code == 2
    code, out, err = cli("apply", "l.dl", "-", stdin="+edge(1, 1).\n")
    assert (code, out) == (2, "")
    assert err == (
        "error: `.limitsize` ends the evaluation of path, edge early, so nothing can keep it up to "
        "date\n    remove the directive, or evaluate the program once, by `tidelog run`\n"
        "    note: no update was applied before; no outputs were written\n"
    )
    text = (folder / "l.dl").read_text()
    assert Database(text.replace("=11", "=9")).size("path") == 10
    assert Database(text.replace("=11", "=1000")).size("path") == 55
    with pytest.raises(TidelogError, match="path early, but subsumption and choice"):
        Database(text + "path(x, y) <= path(x, z) :- z < y.")
    with pytest.raises(TidelogError, match="which Spark does not support"):
        Database(text, engine="spark")


PARTS = """\
.comp Graph<N> {
  .decl facts, path(x: N, y: N)
  path(x, y) :- facts(x, y).
  path(x, z) :- path(x, y), facts(y, z).
  .output facts
}
"""
MAIN = """\
.include "parts.dl"
.init a = Graph<number>
.init b = Graph<NODE>
.output a.path, b.path
#ifdef LINKED
b.facts(x, y) :- a.path(x, y).
#endif
"""
PLAIN = """\
.decl a_facts, a_path, b_facts, b_path(x: number, y: number)
a_path(x, y) :- a_facts(x, y).
a_path(x, z) :- a_path(x, y), a_facts(y, z).
b_path(x, y) :- b_facts(x, y).
b_path(x, z) :- b_path(x, y), b_facts(y, z).
b_facts(x, y) :- a_path(x, y).
"""
UPDATES = (
    "+a.facts(2, 3). +a.facts(3, 1). -a.facts(1, 2).",
    "+a.path(y, x) :- b.facts(x, y), x < 3. +a.facts(1, 2).",
    "-b.facts(x, y) :- a.path(x, y). +b.facts(7, 8).",
    "-a.path(x, z) :- a.path(x, y), a.facts(y, z). -a.facts(2, 3).",
)


def test_components_are_maintained_like_what_they_come_to(folder: Path) -> None:
    """Includes and macros from Python, changes of facts and of rules, by several algorithms."""
    (folder / "parts").mkdir()
    (folder / "parts" / "parts.dl").write_text(PARTS)
    (folder / "main.dl").write_text(MAIN)
    for algorithm in ("auto", "dredc", "bf", "counting"):
        database = Database(
            "main.dl",
            {"a.facts": [(1, 2)]},
            algorithm=algorithm,
            include=["parts"],
            macros={"LINKED": 1, "NODE": "number"},
        )
        plain = Database(PLAIN, {"a_facts": [(1, 2)]}, algorithm="recompute")
        for update in UPDATES:
            database.apply(update)
            plain.apply(update.replace("a.", "a_").replace("b.", "b_"))
            for name in ("a.facts", "a.path", "b.facts", "b.path"):
                assert sorted(database.relation(name)) == sorted(
                    plain.relation(name.replace(".", "_"))
                ), (algorithm, update, name)


def test_a_relation_of_an_instance_is_no_file(cli: Cli, folder: Path) -> None:
    (folder / "f.dl").write_text(
        f"{PARTS}.init a = Graph<number>\na.facts(1, 2).\n.printsize a.facts\n"
    )
    assert cli("run", "f.dl") == (0, "a.facts\t1\n", "")
    assert (folder / "a.facts.csv").read_text() == "1\t2\n"

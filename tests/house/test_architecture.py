"""Imports point one way, as the table of layers in docs/architecture.md says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent.parent / "tidelog"

TABLE = PACKAGE.parent / "docs" / "architecture.md"
ROW = re.compile(r"\| `tidelog/(\w+)(?:/|\.py)` \|[^|]*\|([^|]*)\|")


def _allowed() -> dict[str, set[str]]:
    """What each part may import of ours besides itself, as the table of layers says."""
    text = TABLE.read_text(encoding="utf-8")
    layers = text.partition("## Layers")[2].partition("\n## ")[0]
    return {part: set(re.findall(r"\w+", uses)) - {"nothing"} for part, uses in ROW.findall(layers)}


ALLOWED = _allowed()


def imported(path: Path) -> Iterator[str]:
    """Full names of what a file of ours imports: anywhere in it, and for types only, too."""
    inside = ("tidelog", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = inside[: len(inside) - node.level + 1] if node.level else ()
            base = ".".join((*start, *([node.module] if node.module else [])))
            yield from (f"{base}.{alias.name}" for alias in node.names)


def parts_used(path: Path) -> set[str]:
    names = (name.split(".") for name in imported(path))
    used = {name[1] for name in names if name[0] == "tidelog" and len(name) > 1}
    return used - {"__version__"}


FILES = sorted(PACKAGE.rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_imports_point_one_way(path: Path) -> None:
    part = _name(path).split("/")[0]
    assert part in ALLOWED, f"{part} is not in the table of layers"
    assert parts_used(path) <= ALLOWED[part] | {part}


def test_imports_point_upwards_in_the_table() -> None:
    above: set[str] = set()
    for part, uses in ALLOWED.items():
        assert uses <= above, f"{part} imports what stands below it: {sorted(uses - above)}"
        above.add(part)


def test_the_table_names_what_there_is() -> None:
    assert ALLOWED.keys() == {_name(path).split("/")[0] for path in FILES}


def _module(path: Path) -> str:
    return ".".join(("tidelog", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    )


def test_no_files_import_each_other() -> None:
    """Imports inside functions and for types only count, too: they would only hide a cycle."""
    modules = {_module(path) for path in FILES}
    uses: dict[str, set[str]] = {}
    for path in FILES:
        names = imported(path)
        files = {name if name in modules else name.rpartition(".")[0] for name in names}
        uses[_module(path)] = (files & modules) - {_module(path)}
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_imports_are_absolute(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [n.lineno for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.level]


def test_the_oracle_shares_no_code_with_the_engine() -> None:
    """Of ours it uses only the program's own shape, its diagnostics and its notation."""
    used = {
        name.rpartition(".")[0]
        for path in (PACKAGE / "oracle").glob("*.py")
        for name in imported(path)
        if name.startswith("tidelog.")
    }
    assert used <= {
        "tidelog.oracle.clause_bodies",
        "tidelog.oracle.evaluate",
        "tidelog.oracle.values",
        "tidelog.oracle.subsumption",
        "tidelog.program.diagnostics",
        "tidelog.program.proof_steps",
        "tidelog.program.syntax",
        "tidelog.program.terms",
        "tidelog.text.writer",
    }

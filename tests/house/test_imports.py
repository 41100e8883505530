"""Imports point one way: text, program, plan, engine, and what users touch on top."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent.parent / "tidelog"

# What each part may import of ours, besides itself.
ALLOWED: dict[str, set[str]] = {
    "program": set(),
    "text": {"program"},
    "plan": {"program", "text"},
    "compiled": set(),
    "closure": {"program", "compiled"},
    "prefetching": set(),
    "dbsp": {"program", "plan", "compiled", "prefetching"},
    "maintain": {"program", "plan", "closure", "dbsp"},
    "engines": {
        "program",
        "plan",
        "maintain",
        "closure",
        "compiled",
        "prefetching",
        "limits",
        "io",
    },
    "io": {"program", "text"},
    "report": {"program", "plan"},
    "ctrl_c": set(),
    "limits": {"program", "ctrl_c"},
    "progress": {"limits"},
    "accept": {"program", "text", "plan"},
    "naive": {"program", "text", "naive_values", "naive_thinning"},
    "naive_thinning": {"program"},
    "naive_values": {"program"},
    "functors": {"program"},
    "questions": {"program", "text", "plan"},
    "lsp": {"program", "text", "plan"},
    "demanding": {"program", "text", "plan", "maintain", "engines", "accept", "questions"},
    "deltas": {"program", "text", "io", "engines"},
    "transactions": {
        *("program", "text", "plan", "maintain", "engines", "io", "limits", "deltas"),
        "functors",
    },
    "stream": {
        *("program", "text", "plan", "maintain", "engines", "io", "limits", "deltas"),
        "transactions",
    },
    "spark": {"program", "maintain", "engines", "io", "limits", "deltas", "transactions"},
    "reading": {"program", "io", "engines", "transactions", "stream"},
    "api": {
        *("program", "text", "plan", "maintain", "engines", "io", "report"),
        *("limits", "accept", "questions", "demanding", "deltas", "transactions", "stream"),
        *("reading", "spark"),
        "functors",
    },
    "pipeline": {
        *("program", "text", "plan", "engines", "io", "maintain", "limits", "accept", "api"),
        *("transactions", "spark"),
    },
    "rdf": {
        *("program", "text", "plan", "io", "maintain", "limits", "accept", "deltas", "api"),
        "transactions",
    },
    "cli": {
        *("program", "text", "plan", "closure", "dbsp", "engines", "io", "report", "naive"),
        *(
            "ctrl_c",
            "limits",
            "progress",
            "accept",
            "api",
            "demanding",
            "lsp",
            "questions",
            "reading",
            "deltas",
            "transactions",
            "stream",
            "maintain",
            "pipeline",
            "rdf",
            "spark",
            "__version__",
        ),
    },
    "__init__": {
        *("api", "deltas", "limits", "maintain", "program", "reading", "stream", "transactions"),
    },
    "__main__": {"cli", "ctrl_c"},
}


def imported(path: Path) -> Iterator[str]:
    """Full names of what a file of ours imports."""
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
    return {name[1] for name in names if name[0] == "tidelog" and len(name) > 1}


FILES = sorted(PACKAGE.rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_imports_point_one_way(path: Path) -> None:
    part = _name(path).split("/")[0]
    assert part in ALLOWED, f"{part} is new: say in ALLOWED what it may import"
    assert parts_used(path) <= ALLOWED[part] | {part}


def test_the_table_has_no_cycle() -> None:
    left = dict(ALLOWED)
    while left:
        free = [name for name, uses in left.items() if not uses & left.keys()]
        assert free, f"a cycle among {sorted(left)}"
        for name in free:
            del left[name]


def test_the_table_names_what_there_is() -> None:
    assert ALLOWED.keys() == {_name(path).split("/")[0] for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_imports_are_absolute(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [n.lineno for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.level]


def test_the_oracle_shares_no_code_with_the_engine() -> None:
    """Of ours it uses only the program's own shape, its diagnostics and its notation."""
    used = {
        name.rpartition(".")[0]
        for path in PACKAGE.glob("naive*.py")
        for name in imported(path)
        if name.startswith("tidelog.")
    }
    assert used <= {
        "tidelog.naive_values",
        "tidelog.naive_thinning",
        "tidelog.program.diagnostics",
        "tidelog.program.syntax",
        "tidelog.program.terms",
        "tidelog.text.write",
    }

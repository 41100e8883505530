"""Two files or two classes share a name only if they play the same role on both sides of an
interface."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "tidelog"
FILES = [path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py"))]

INTERFACE = "the engine interface, and engines"
BOTH_NAMED = "what runs, and what runs it"
LIBRARY = "`tidelog.dbsp` is a library of its own, in the words of its papers"

SHARED_FILES = {
    "backend": (INTERFACE, {"transaction", "spark"}),
    "chains": ("a data structure, and its kernels", {"closure", "closure/kernels"}),
    "dyre": (BOTH_NAMED, {"dbsp", "maintain"}),
    "engine": (INTERFACE, {"engine", "local", "spark"}),
    "evaluators": (INTERFACE, {"engine", "local", "spark"}),
    "kernel_group": (
        "the kernels of a package, with their types",
        {"closure", "dbsp", "local", "spark/strategies"},
    ),
    "sets": (INTERFACE, {"engine", "local", "spark"}),
    "apply": (BOTH_NAMED, {"changes", "cli"}),
    "pipeline": (BOTH_NAMED, {"pipeline", "cli"}),
    "run": (BOTH_NAMED, {"pipeline", "cli"}),
    "why": (BOTH_NAMED, {"explain", "cli"}),
    "why_not": (BOTH_NAMED, {"explain", "cli"}),
}
SHARED_CLASSES = {
    "Aggregate": (LIBRARY, {"dbsp/aggregates", "program/syntax"}),
    "Evaluators": (INTERFACE, {"engine/evaluators", "local/evaluators", "spark/evaluators"}),
    "Group": (LIBRARY, {"dbsp/streams", "program/rules"}),
    "ProofSearch": (INTERFACE, {"engine/abilities", "local/proof_search"}),
    "Stream": (LIBRARY, {"dbsp/streams", "changes/stream"}),
}


def _shared(places: dict[str, set[str]]) -> dict[str, set[str]]:
    return {name: found for name, found in places.items() if len(found) > 1}


def test_files() -> None:
    folders = defaultdict(set)
    for path in FILES:
        if path.stem != "__init__":
            folders[path.stem].add(path.parent.as_posix())
    assert _shared(folders) == {name: found for name, (_, found) in SHARED_FILES.items()}


def test_classes() -> None:
    files = defaultdict(set)
    for path in FILES:
        for node in ast.parse((PACKAGE / path).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].add(path.with_suffix("").as_posix())
    assert _shared(files) == {name: found for name, (_, found) in SHARED_CLASSES.items()}

"""Files, classes and constructors stay small enough to read at a glance."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "tidelog"
LINES, METHODS, PARAMETERS = 500, 30, 8

LONG_CONSTRUCTORS = {
    "pipeline/pipeline.py Pipeline": "options of the public interface, by keyword, with defaults",
    "session/database.py Database": "options of the public interface, by keyword, with defaults",
}


@cache
def _classes() -> dict[str, ast.ClassDef]:
    return dict(_found())


def _found() -> Iterator[tuple[str, ast.ClassDef]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield f"{path.relative_to(PACKAGE).as_posix()} {node.name}", node


def _methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [each for each in node.body if isinstance(each, ast.FunctionDef)]


def test_files_are_short() -> None:
    long = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.parent.name != "kernels"
        and len(path.read_text(encoding="utf-8").splitlines()) > LINES
    }
    assert long == set()


def test_classes_are_narrow() -> None:
    """Counts the names of public methods and properties; those of base classes are theirs."""
    public = {
        name: {each.name for each in _methods(node) if not each.name.startswith("_")}
        for name, node in _classes().items()
    }
    wide = {name for name, methods in public.items() if len(methods) > METHODS}
    assert wide == set()


def test_constructors_are_short() -> None:
    """Records, whose fields are given by name, have no constructor of their own."""
    long = set()
    for name, node in _classes().items():
        for method in _methods(node):
            if method.name == "__init__":
                given = method.args
                if len([*given.posonlyargs, *given.args, *given.kwonlyargs]) - 1 > PARAMETERS:
                    long.add(name)
    assert long <= LONG_CONSTRUCTORS.keys()

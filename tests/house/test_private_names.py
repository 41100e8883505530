"""A name with a leading underscore stays in the file of its class or function."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[2] / "tidelog"
FILES = [path.relative_to(PACKAGE).as_posix() for path in sorted(PACKAGE.rglob("*.py"))]


@cache
def _trees() -> dict[str, ast.Module]:
    return {file: ast.parse((PACKAGE / file).read_text(encoding="utf-8")) for file in FILES}


class Empty(NamedTuple):
    """Its names with an underscore, such as `_replace`, are public."""


PUBLIC = set(dir(Empty))


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def _own(node: ast.expr) -> bool:
    """Is this the object whose method the code is in?"""
    if isinstance(node, ast.Call):
        node = node.func
    return isinstance(node, ast.Name) and node.id in ("self", "cls", "super")


def _attributes(tree: ast.AST) -> Iterator[ast.Attribute]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _private(node.attr):
            yield node


def _of_classes(tree: ast.AST) -> set[str]:
    """The private names that the classes of a file define."""
    stored = {
        node.attr
        for node in _attributes(tree)
        if isinstance(node.ctx, ast.Store) and _own(node.value)
    }
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for statement in (statement for body in bodies for statement in body):
        if isinstance(statement, ast.FunctionDef):
            stored.add(statement.name)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            stored |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return {name for name in stored if _private(name)}


@cache
def _classes() -> dict[str, set[str]]:
    return {
        file: {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        for file, tree in _trees().items()
    }


@cache
def _files_of() -> dict[str, set[str]]:
    """The files of the classes that define a private name."""
    found: dict[str, set[str]] = defaultdict(set)
    for file, tree in _trees().items():
        for name in _of_classes(tree):
            found[name].add(file)
    return found


@cache
def _others(file: str) -> set[str]:
    return set().union(*_classes().values()) - _classes()[file]


def _foreign(function: ast.FunctionDef, file: str) -> set[str]:
    """Parameters that are objects of our classes in other files."""
    others = _others(file)
    given = function.args
    annotated = ((each.arg, each.annotation) for each in (*given.args, *given.kwonlyargs))
    return {name for name, kind in annotated if isinstance(kind, ast.Name) and kind.id in others}


def _reaches(file: str) -> Iterator[str]:
    tree = _trees()[file]
    for node in _attributes(tree):
        # A name that no class of ours defines belongs to a library.
        known = _files_of()[node.attr]
        if not _own(node.value) and known and file not in known:
            yield f"line {node.lineno}: {ast.unparse(node)}"
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            foreign = _foreign(function, file)
            for node in _attributes(function):
                if isinstance(node.value, ast.Name) and node.value.id in foreign:
                    yield f"line {node.lineno}: {ast.unparse(node)}"
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tidelog"):
            names = [each.name for each in node.names if _private(each.name)]
            yield from (f"line {node.lineno}: import of {name}" for name in names)


@pytest.mark.parametrize("file", FILES)
def test_private_names_stay_in_their_file(file: str) -> None:
    """A subclass may use those of its bases, through `self`."""
    assert not sorted(set(_reaches(file)))

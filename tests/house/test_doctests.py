"""The examples in docstrings are run, module by module."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tidelog

MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(tidelog.__path__, "tidelog.")
    if not found.name.endswith("__main__")
)


@pytest.mark.parametrize("name", ["tidelog", *MODULES])
def test_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0

"""Examples in docstrings of the stepwise algorithms run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from bench import stepwise

MODULES = sorted(found.name for found in pkgutil.iter_modules(stepwise.__path__))


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"bench.stepwise.{name}")).failed == 0

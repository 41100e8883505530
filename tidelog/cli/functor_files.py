"""`--functors MODULE.py`: Python functions for the functors that a program declares."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from tidelog.plan.accept import Accepted
from tidelog.program.diagnostics import TidelogError
from tidelog.program.syntax import FunctorDecl


def functors_of(accepted: Accepted, options: argparse.Namespace) -> dict[str, Callable[..., Any]]:
    """The functions of the program's functors."""
    if options.functors is None:
        return {}
    return _functions(Path(options.functors), accepted.typed.functors)


def _functions(path: Path, wanted: Iterable[FunctorDecl]) -> dict[str, Callable[..., Any]]:
    """The functions that the module has; a missing one is an error only where it is called."""
    module = _module(path)
    found: dict[str, Callable[..., Any]] = {}
    for each in wanted:
        function = getattr(module, each.name, None)
        if function is not None and not callable(function):
            raise TidelogError(f"error: {path}: {each.name} is not a function")
        if function is not None:
            found[each.name] = function
    return found


def _module(path: Path) -> ModuleType:
    if not path.is_file():
        raise TidelogError(f"error: {path}: file not found\n    --functors takes MODULE.py")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise TidelogError(f"error: {path}: not a Python module\n    its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        line = _line(error, path)
        where = f"{path}:{line}" if line else str(path)
        raise TidelogError(f"error: {where}: {type(error).__name__}: {error}") from error
    return module


def _line(error: Exception, path: Path) -> int | None:
    """The line of the module that raised the error."""
    if isinstance(error, SyntaxError):
        return error.lineno
    found, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            found = trace.tb_lineno
        trace = trace.tb_next
    return found

"""Kernels come back from the disk only if they were compiled from all the sources of now.

Numba looks at the file that a function stands in, but a kernel has the code of several files
compiled into it.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
from pathlib import Path
from typing import Any

from numba.core.dispatcher import Dispatcher

from tidelog import prefetching
from tidelog.dbsp import kernels
from tidelog.dbsp.kernels import joining

MODULES = tuple(
    importlib.import_module(found.name)
    for found in pkgutil.iter_modules(kernels.__path__, f"{kernels.__name__}.")
)
KERNELS: tuple[Any, ...] = tuple(
    value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, Dispatcher) and value.__module__ == module.__name__
)


def load_safely() -> None:
    digest = hashlib.sha256()
    for source in (*sorted(Path(__file__).parent.glob("kernels/*.py")), Path(prefetching.__file__)):
        digest.update(source.read_bytes())
    for kernel in KERNELS:
        file: Any = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        if hasattr(file, "_source_stamp"):
            file._source_stamp = (file._source_stamp, digest.hexdigest())


def is_warm() -> bool:
    """Will kernels be loaded rather than compiled?"""
    try:
        # The public side of the cache tells of hits only after the fact.
        kernel: Any = joining.join
        return bool(kernel._cache._cache_file._load_index())
    except Exception:  # unreadable, or laid out otherwise by another version of Numba
        return False


load_safely()

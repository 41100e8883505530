"""Compiled kernels come back from the disk: only those of the sources of now, and quickly."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys


def kernels_of(modules: Iterable[ModuleType]) -> tuple[Any, ...]:
    """The kernels that these modules define."""
    return tuple(
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, Dispatcher) and value.__module__ == module.__name__
    )


def load_safely(kernels: Iterable[Any], sources: Iterable[Path]) -> None:
    """Let kernels be loaded only if they were compiled from all these sources as they are now.

    Numba looks at the file that a function stands in, but a kernel has the code of several
    files compiled into it: one of them could change and the old code come back.
    """
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(source.read_bytes())
    for kernel in kernels:
        file: Any = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        if hasattr(file, "_source_stamp"):
            file._source_stamp = (file._source_stamp, digest.hexdigest())


def load_quickly(kernels: Iterable[Any]) -> None:
    """Let kernels be loaded without all that compiling them would need.

    Numba prepares for compilation before it looks into its cache, which takes longer than
    everything else that a small program needs. A kernel that is not in the cache is compiled
    as ever: Numba prepares again before it compiles.
    """
    for kernel in kernels:
        cache: Any = getattr(kernel, "_cache", None)
        if hasattr(cache, "_load_overload"):
            cache.load_overload = _Quick(cache)


def is_cached(kernel: Any) -> bool:
    """Has the disk a compiled form of the kernel, from the sources of now?"""
    try:
        # The public side of the cache tells of hits only after the fact.
        return bool(kernel._cache._cache_file._load_index())
    except Exception:  # unreadable, or laid out otherwise by another version of Numba
        return False


class _Quick:
    def __init__(self, cache: Any) -> None:
        self._cache = cache
        self._usual = type(cache).load_overload

    def __call__(self, signature: Any, target: Any) -> Any:
        try:
            rtsys.initialize(target)  # compiled code calls Numba's runtime
            with self._cache._guard_against_spurious_io_errors():
                return self._cache._load_overload(signature, target)
        except Exception:  # another version of Numba may need more, or differ inside
            return self._usual(self._cache, signature, target)

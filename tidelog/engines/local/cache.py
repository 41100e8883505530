"""Where compiled kernels are kept between runs, and how they come back quickly."""

from __future__ import annotations

import hashlib
import inspect
import os
from pathlib import Path
from typing import Any

from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys
from numba.core.types import int64

from tidelog.engines.local.kernels import bits, hashing, index, join, removal, words

KERNELS: tuple[Any, ...] = tuple(
    value
    for module in (bits, hashing, index, join, removal, words)
    for value in vars(module).values()
    if isinstance(value, Dispatcher) and value.__module__ == module.__name__
)
_LARGEST: Any = join.run


def load_safely() -> None:
    """Let a kernel be loaded only if it was compiled from all the sources of now.

    Numba looks at the file that a function stands in, but a kernel has the code of several
    files compiled into it: one of them could change and the old code come back.
    """
    stamp = _sources_stamp()
    for kernel in KERNELS:
        file: Any = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        if hasattr(file, "_source_stamp"):
            file._source_stamp = (file._source_stamp, stamp)


def _sources_stamp() -> str:
    digest = hashlib.sha256()
    for source in sorted((Path(__file__).parent / "kernels").glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def load_quickly() -> None:
    """Let kernels be loaded without all that compiling them would need.

    Numba prepares for compilation before it looks into its cache, which takes longer than
    everything else that a small program needs. A kernel that is not in the cache is compiled
    as ever: Numba prepares again before it compiles.
    """
    for kernel in KERNELS:
        cache: Any = getattr(kernel, "_cache", None)
        if hasattr(cache, "_load_overload"):
            cache.load_overload = _Quick(cache)


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


def compile_largest() -> None:
    """Load the largest kernel, or compile it: its arguments are all addresses and numbers."""
    if not _LARGEST.signatures:
        count = len(inspect.signature(_LARGEST.py_func).parameters)
        _LARGEST.compile((int64,) * count)


def folder() -> Path | None:
    """The cache's folder; None if there is no place where one could be."""
    path = getattr(_LARGEST.stats, "cache_path", None)
    return Path(path) if path else None


def is_warm() -> bool:
    """Will the largest kernel be loaded rather than compiled?"""
    try:
        # The public side of the cache tells of hits only after the fact.
        return bool(_LARGEST.signatures) or bool(_LARGEST._cache._cache_file._load_index())
    except Exception:  # unreadable, or laid out otherwise by another version of Numba
        return False


def is_writable() -> bool:
    path = folder()
    while path is not None and not path.exists() and path != path.parent:
        path = path.parent
    return path is not None and os.access(path, os.W_OK | os.X_OK)


def is_beside_the_package() -> bool:
    path = folder()
    return path is not None and path.is_relative_to(Path(__file__).parent)


load_safely()
load_quickly()

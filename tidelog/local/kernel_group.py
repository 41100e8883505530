"""Where compiled kernels are kept between runs."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

from numba.core.types import Array, boolean, int64, uint8, uint32, uint64

from tidelog.jit import prefetch
from tidelog.jit.groups import Kernels, Types
from tidelog.local.kernels import bits, hashing, index, join, proofs, removal, term_table, words

_LARGEST: Any = join.run


def compile_largest() -> None:
    """Load the largest kernel, or compile it: its arguments are all addresses and numbers."""
    if not _LARGEST.signatures:
        count = len(inspect.signature(_LARGEST.py_func).parameters)
        _LARGEST.compile((int64,) * count)


def folder() -> Path | None:
    """The cache's folder; None if there is no place where one could be."""
    path = getattr(_LARGEST.stats, "cache_path", None)
    return Path(path) if path else None


def is_writable() -> bool:
    path = folder()
    while path is not None and not path.exists() and path != path.parent:
        path = path.parent
    return path is not None and os.access(path, os.W_OK | os.X_OK)


def is_beside_the_package() -> bool:
    path = folder()
    return path is not None and path.is_relative_to(Path(__file__).parent)


def _types() -> Types:
    ids, rows, numbers = uint32[::1], uint32[:, ::1], int64[::1]
    return {
        **dict.fromkeys(("rows", "going", "known", "changed", "bits.found", "cells"), ids),
        **dict.fromkeys(("ids", "old", "old_rows", "slots"), ids),
        **dict.fromkeys(("data", "term_table.rows"), rows),
        **dict.fromkeys(
            ("term_table.ids", "numbers", "starts", "which", "found", "words"), numbers
        ),
        "encode_all.words": (numbers, Array(int64, 1, "C", readonly=True)),  # Arrow's are
        **dict.fromkeys(("keys", "old_keys"), uint64[::1]),
        "holds": uint8[::1],
        "wanted": boolean,
        "multiplier": uint64,
    }


_SOURCES = (*(Path(__file__).parent / "kernels").glob("*.py"), Path(prefetch.__file__))
KERNELS = Kernels(
    "engine", (bits, hashing, index, join, proofs, removal, term_table, words), _SOURCES, _types
)

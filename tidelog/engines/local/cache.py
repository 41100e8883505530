"""Where compiled kernels are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tidelog.engines.local.kernels.join import run


def folder() -> Path | None:
    """The cache's folder; None if there is no place where one could be."""
    path = getattr(getattr(run, "stats", None), "cache_path", None)
    return Path(path) if path else None


def is_warm() -> bool:
    """Will the largest kernel be loaded rather than compiled?"""
    cached: Any = getattr(run, "_cache", None)
    try:
        # The public side of the cache tells of hits only after the fact.
        return bool(run.signatures) or bool(cached._cache_file._load_index())
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

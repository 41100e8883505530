"""What rules need to know of literals."""

from __future__ import annotations


def facts(term: str) -> list[tuple[str, tuple[str, ...]]]:
    return []

"""What holds for every closure: it equals the plain one, and its changes add up to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from tests.closure.histories import Pair, Words, words
from tidelog.closure import components, digraph, growing_arrays, reachability, row_arrays
from tidelog.program.diagnostics import LimitError

Plain = Callable[[set[Pair]], Words]
Change = tuple[str, list[Pair]]


def follow(closure: Any, plain: Plain, changes: Iterable[Change]) -> None:
    """Make changes, and compare after each."""
    edges: set[Pair] = set()
    before = plain(edges)
    for kind, some in changes:
        delta = getattr(closure, kind)(some)
        edges = edges | set(some) if kind == "insert" else edges - set(some)
        after = plain(edges)
        assert_changed(delta, kind, before, after)
        assert_is(closure, edges, after)
        before = after


def assert_changed(delta: Any, kind: str, before: Words, after: Words) -> None:
    larger, smaller = (after, before) if kind == "insert" else (before, after)
    assert np.array_equal(words(delta), np.setdiff1d(larger, smaller, assume_unique=True))


def assert_is(closure: Any, edges: set[Pair], pairs: Words) -> None:
    assert np.array_equal(words(closure.edges()), words(edges))
    assert np.array_equal(words(closure.pairs()), pairs)
    assert closure.size == len(pairs)


class Allocator:
    """Gives out arrays until a given one, counted from the last `fail_at`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = -1
        self.new = growing_arrays.new
        for module in (growing_arrays, row_arrays, components, digraph, reachability):
            monkeypatch.setattr(module, "new", self)

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise LimitError("error: no memory for a table of 1 MiB")
        return self.new(*given, **named)


def follow_without_memory(
    closure: Any, plain: Plain, changes: Iterable[Change], allocator: Allocator
) -> int:
    """Every change, with every one of its arrays refused in turn; returns how many were."""
    edges: set[Pair] = set()
    refused = 0
    for kind, some in changes:
        before, number = plain(edges), 0
        while True:
            number += 1
            allocator.left = number
            try:
                delta = getattr(closure, kind)(some)
            except LimitError:
                allocator.left = -1
                refused += 1
                assert_is(closure, edges, before)
            else:
                break
        allocator.left = -1
        edges = edges | set(some) if kind == "insert" else edges - set(some)
        assert_changed(delta, kind, before, plain(edges))
        assert_is(closure, edges, plain(edges))
    return refused

"""Sizes from which the engine works in another way, lowered so that small histories reach them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest

from tidelog.local import engine, row_store
from tidelog.maintain import closure_seeds, materialise

SIZES = (
    (materialise, "LONG", (0, 5, materialise.LONG)),
    (closure_seeds, "FEW", (0, closure_seeds.FEW)),
    (engine, "FEW_ROWS", (0, engine.FEW_ROWS)),
    (engine, "FEW_INSTANCES", (0, engine.FEW_INSTANCES)),
    (row_store, "MOST_DIRTY", (12, row_store.MOST_DIRTY)),
)


@contextmanager
def thresholds(seed: int) -> Iterator[None]:
    """For the history of this seed always the same sizes."""
    random = Random(f"thresholds {seed}")
    with pytest.MonkeyPatch.context() as patch:
        for module, name, sizes in SIZES:
            patch.setattr(module, name, random.choice(sizes))
        yield


@contextmanager
def lowest() -> Iterator[None]:
    """All of them as low as they can be."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, sizes in SIZES:
            patch.setattr(module, name, min(sizes))
        yield

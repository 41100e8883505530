from __future__ import annotations

from tests.engine.contract import Contract
from tidelog.engine import Store
from tidelog.local.engine import LocalEngine


class TestLocal(Contract):
    def new(self) -> Store:
        return LocalEngine()

    def test_abilities(self, store: Store) -> None:
        assert store.ages is not None
        assert store.overlapping is not None
        assert store.profiles is not None
        assert store.join_orders is not None
        assert store.scratch is not None

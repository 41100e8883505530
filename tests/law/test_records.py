"""The law over programs with records and branches: they say what their plain forms say, and
what is maintained equals a fresh naive evaluation, whatever changes and by any algorithm."""

from __future__ import annotations

import pytest

from tests.algorithms import ALGORITHMS
from tests.law.histories import State, history
from tests.law.records import recorded, spread
from tests.law.replay import always, replay

NAMES = list(ALGORITHMS)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(len(NAMES)))
def test_history_with_records(seed: int) -> None:
    told, branches = history(seed), seed % 2 == 1
    made = recorded(told, branches)
    assert "$Both" in made.text if branches else ".type Both" in made.text
    plain, structured = State.of(told.text, told.given), State.of(made.text, made.given)
    spread_out = {name: {*map(spread, rows)} for name, rows in structured.answer.items()}
    assert plain.answer == spread_out
    replay(made, {NAMES[seed]: always(NAMES[seed])})

"""The effective changes do not depend on how changes are cut into batches."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from tidelog.pipeline.batches import (
    Ledger,
    fold,
    from_bytes,
    inserted,
    insertions,
    of_facts,
    rows_of,
    signed,
    to_bytes,
)
from tidelog.program.changes import FactChange
from tidelog.program.diagnostics import DataError
from tidelog.program.rules import Relation

PAIR = Relation("pair", ("x", "y"), ("number", "symbol"))
Change = tuple[int, tuple[int, str], int]  # sequence number, fact, sign


def generated(seed: int, size: int = 60) -> list[Change]:
    """A history in which both sides of an update may have the same number."""
    rng = random.Random(seed)
    found: list[Change] = []
    for seq in range(size):
        fact = (rng.randrange(4), rng.choice(["", "a", "é\n"]))
        if rng.random() < 0.3:
            found += [(seq, fact, -1), (seq, fact, 1)]
        else:
            found.append((seq, fact, rng.choice([-1, 1])))
    return found


def table(changes: list[Change], ordered: bool = True) -> pa.Table:
    columns = [pa.array([f[0] for _, f, _ in changes]), pa.array([f[1] for _, f, _ in changes])]
    seqs = pa.array([seq for seq, _, _ in changes], pa.int64()) if ordered else None
    return signed(PAIR, columns, pa.array([sign for _, _, sign in changes], pa.int8()), seqs)


def facts(changes: list[Change]) -> set[tuple[int, str]]:
    """The facts in the end, computed with a dictionary."""
    held = {}
    for _, fact, sign in changes:
        held[fact] = sign
    return {fact for fact, sign in held.items() if sign > 0}


def cut(rng: random.Random, changes: list[Change]) -> list[list[Change]]:
    at = sorted(rng.sample(range(1, len(changes)), 5))
    return [changes[a:b] for a, b in zip([0, *at], [*at, len(changes)], strict=True)]


@pytest.mark.parametrize("seed", range(20))
def test_without_order_the_last_change_wins(seed: int) -> None:
    changes = generated(seed)
    parts = [table(part, ordered=False) for part in cut(random.Random(seed), changes)]
    ledger = Ledger()
    effective = [ledger.effective("pair", part) for part in parts]
    assert set(rows_of(inserted(fold(effective)))) == facts(changes)
    assert all(len(set(rows_of(part))) == part.num_rows for part in effective)


@pytest.mark.parametrize("seed", range(20))
def test_with_order_neither_shuffling_nor_repeating_matters(seed: int) -> None:
    changes, rng = generated(seed), random.Random(seed)
    twice = [*changes, *rng.sample(changes, 20)]
    rng.shuffle(twice)
    ledger, restarted = Ledger(), Ledger()
    effective: list[pa.Table] = []
    for part in cut(rng, twice):
        effective.append(ledger.effective("pair", table(part)))
        restarted = Ledger()  # after a crash, the state restores the ledger
        restarted.load("pair", from_bytes(to_bytes(fold(effective))))
        assert restarted.known == ledger.known
        ledger = restarted
    assert set(rows_of(inserted(fold(effective)))) == facts(changes)


def test_at_equal_numbers_the_insertion_wins() -> None:
    ledger = Ledger()
    both = table([(7, (1, "a"), 1), (7, (1, "a"), -1)])
    assert ledger.effective("pair", both).column("sign").to_pylist() == [1]
    again = table([(7, (1, "a"), -1)])
    assert ledger.effective("pair", again).num_rows == 0


def test_late_changes_are_dropped_and_forgotten() -> None:
    ledger = Ledger(late={"pair": 10})
    ledger.effective("pair", table([(1, (1, "a"), -1), (100, (2, "b"), 1)]))
    assert ledger.effective("pair", table([(2, (1, "a"), 1), (95, (3, "c"), 1)])).num_rows == 1
    assert ledger.dropped == 1
    ledger.prune()
    assert set(ledger.known["pair"]) == {(2, "b"), (3, "c")}
    whole = table([(1, (1, "a"), -1), (100, (2, "b"), 1), (95, (4, "d"), -1)])
    assert set(rows_of(ledger.to_snapshot("pair", whole))) == {(2, "b"), (4, "d")}


def test_snapshots_keep_deletions_only_with_an_order() -> None:
    plain = table([(0, (1, "a"), -1), (0, (2, "b"), 1)], ordered=False)
    assert rows_of(Ledger().to_snapshot("pair", plain)) == [(2, "b")]


def test_a_relation_without_columns() -> None:
    rain = Relation("rain", (), ())
    changes = of_facts(rain, [FactChange("+", "rain", ()), FactChange("-", "rain", ())])
    assert Ledger().effective("rain", changes).column("sign").to_pylist() == [-1]
    assert rows_of(inserted(fold([changes, of_facts(rain, [FactChange("+", "rain", ())])]))) == [()]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array(["1"]), "column x has type number, but the source has string"),
        (pa.array([True]), "column x has type number, but the source has bool"),
        (pa.array([None], pa.int64()), "column x contains nulls"),
        (pa.array([1.5]), "column x has type number: Float value 1.5"),
        (pa.array([2**63], pa.uint64()), "column x has type number: Integer value 92233720"),
    ],
)
def test_columns_that_do_not_fit(column: pa.Array, message: str) -> None:
    with pytest.raises(DataError) as refusal:
        insertions(PAIR, pa.table([column, pa.array(["a"])], names=["x", "y"]))
    assert str(refusal.value).startswith(f"error: pair: {message}")


def test_floats_are_normalised_like_in_the_engine() -> None:
    real = Relation("real", ("x",), ("float",))
    two = insertions(real, pa.table({"x": [0.0, -0.0]}))
    assert fold([two]).num_rows == 1
    with pytest.raises(DataError, match="NaN"):
        insertions(real, pa.table({"x": [float("nan")]}))


def test_changes_without_a_number_precede_the_others() -> None:
    given = table([(0, (9, "z"), 1), (0, (1, "a"), 1)], ordered=False)
    late = table([(2, (1, "a"), -1), (1, (1, "a"), 1)])
    ledger = Ledger()
    found = ledger.effective("pair", pa.concat_tables([late, given]))
    assert rows_of(inserted(found)) == [(9, "z")]
    assert ledger.known["pair"].keys() == {(1, "a")}

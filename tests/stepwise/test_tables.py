"""The tables: streams as the paper has them, counts that must come out, text that holds them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.stepwise import paper, streams, tables
from bench.stepwise.bf_marking import BackwardForward
from bench.stepwise.dred_marking import DeleteRederive
from bench.stepwise.marking import Update
from bench.stepwise.matching import Fact
from bench.stepwise.play import Row, play


def assert_updates(stream: tuple[Update, ...]) -> None:
    """E⁻ ⊆ E and E⁺ ∩ E = ∅, as the algorithms assume."""
    E: set[Fact] = set()
    for deleted, inserted in stream:
        assert E.issuperset(deleted)
        assert E.isdisjoint(inserted)
        assert len(set(deleted)) + len(set(inserted)) == len(deleted) + len(inserted)
        E = (E - set(deleted)) | set(inserted)


@pytest.mark.parametrize("seed", streams.SEEDS)
@pytest.mark.parametrize("size", streams.SIZES)
def test_recorded_streams(size: int, seed: int) -> None:
    stream = streams.recorded(size, seed)
    assert_updates(stream)
    assert [len(stream), len(stream[0].inserted)] == [20, 100]
    assert {(len(u.deleted), len(u.inserted)) for u in stream[1:]} == {(size // 2, size // 2)}


@pytest.mark.parametrize(("number", "count"), [(0, 55), (1, 83), (2, 114)])
def test_tracks_have_as_many_updates_as_in_the_paper(number: int, count: int) -> None:
    stream = streams.track(number)
    assert_updates(stream)
    assert len(stream) == count


def test_largest_updates_of_tracks_are_those_of_the_paper() -> None:
    largest = [
        (max(len(u.inserted) for u in stream), max(len(u.deleted) for u in stream))
        for stream in map(streams.track, streams.TRACKS)
    ]
    assert largest == [(172, 114), (152, 167), (65, 74)]


@pytest.mark.parametrize("nodes", [20, 100])
def test_generated_streams(nodes: int) -> None:
    for size in (10, 80):
        stream = streams.generated(size, nodes, 1)
        assert_updates(stream)
        assert len(stream) == 50
        assert all(len(u.inserted) <= size and len(u.deleted) <= size for u in stream[1:])


def test_reductions_of_the_paper_are_those_of_its_times() -> None:
    """So the columns are read as they were printed."""
    for row in paper.WAYS.values():
        assert row.seconds is not None
        old, new = row.seconds
        assert 100 * (1 - new / old) == pytest.approx(row.reduction, abs=0.15)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """The smallest streams of each table, played once."""
    some = []
    for name, label in (("seq-recorded", 10), ("trans-recorded", 10), ("ways", 2)):
        plan = tables.PLANS[name]
        stream = [plan.stream(label, 0)]
        for algorithm in (BackwardForward, DeleteRederive):
            some.append(play(name, label, streams.rules(plan.program), stream, algorithm, 1))
    return some


@pytest.mark.slow
def test_rows(rows: list[Row]) -> None:
    assert all(row.right for row in rows)
    seq, _, trans, _, ways, dred = rows
    assert seq.saved("deletions") == seq.new.counts["implicit"] == 7
    assert 0 < trans.saved("deletions") <= trans.new.counts["implicit"]
    assert ways.old.counts["forward"] == ways.new.counts["forward"] == 1206
    assert dred.old.counts["rederivation"] == 1206


def test_what_is_said_of_rows(rows: list[Row]) -> None:
    reached = {target.text: target.reached for target in tables.targets(rows)}
    for what in (
        "every last materialisation is the closure",
        "seq: deletions saved equal implicit marks",
        "DRed: overdeletions saved equal negative implicit marks",
        "DRed: insertions saved equal positive implicit marks",
        "ways, the printed order: forward applications are the paper's, old and new",
    ):
        assert reached[what] is True


def test_text_and_figures(rows: list[Row]) -> None:
    text = tables.text(rows, "Here.")
    assert text.startswith("Here.\n\n- target: every last materialisation")
    assert "| 2 | paper | 10.46 | 10.24 | 2.2 | 558 | 400 |" in text
    for line in text.splitlines():
        if line.startswith(("| size", "| track")):
            width = line.count("|")
        elif line.startswith("|"):
            assert line.count("|") == width
    figures = json.loads(json.dumps(tables.figures(rows, "Here.")))
    assert [row["label"] for row in figures["rows"]] == [10, 10, 10, 10, 2, 2]


def test_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "figures.json"
    assert tables.main(["--quick", "--only", "seq-recorded", "--json", str(out)]) == 0
    assert "### Table 2, seq: recorded streams" in capsys.readouterr().out
    assert len(json.loads(out.read_text(encoding="utf-8"))["rows"]) == 4

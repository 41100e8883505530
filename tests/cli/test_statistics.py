"""What `tidelog apply --stats` says of updates: the papers' numbers, and what really ran."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tidelog import Database, FactChange
from tidelog.changes.policies.fully_dynamic import FullyDynamic
from tidelog.changes.policies.policy import Arrived, Finished
from tidelog.maintain.driver import overlap_strata
from tidelog.maintain.report import LEGEND
from tidelog.transaction.core import Options

TUTORS = """\
.decl Tutor(x: symbol, y: symbol)
.decl TA(x: symbol)
.output TA
TA(x) :- Person(x), Tutor(x, y), Course(y).
Person(x) :- TA(x).
Person(x) :- Tutor(x, _).
Course(y) :- Tutor(_, y).
Tutor("john", "math"). Tutor("peter", "math"). Tutor("john", "phys").
"""


@pytest.fixture
def tutors(folder: Path) -> Path:
    (folder / "tutors.dl").write_text(TUTORS)
    (folder / "a.changes").write_text('-Tutor("john", "math").\n')
    return folder


def statistics(cli: Cli, folder: Path, *options: str) -> dict[str, Any]:
    options = ("-D", "out", "--stats", "s.json", *options)
    assert cli("apply", "tutors.dl", "a.changes", *options) == (0, "", "")
    found: dict[str, Any] = json.loads((folder / "s.json").read_text())
    return found


PAPER = {
    "dred": {"|D|": 6, "DR2": 7, "DR4": 3, "DR5": 4},
    "bf": {"|C|": 7, "backward": 4, "saturate": 0, "del prop": 3, "DR5": 0},
}


@pytest.mark.parametrize("algorithm", PAPER)
def test_table_1_by_the_command_line(cli: Cli, tutors: Path, algorithm: str) -> None:
    told = statistics(cli, tutors, "--algorithm", algorithm, "--one-stratum")
    (update,) = told["commits"]
    (stratum,) = update["strata"]
    assert {name: update["numbers"].get(name, 0) for name in PAPER[algorithm]} == PAPER[algorithm]
    assert stratum["algorithm"] == algorithm
    assert stratum["numbers"] == update["numbers"]
    assert set(update["numbers"]) <= told["legend"].keys() == LEGEND.keys()


def test_stratum_by_stratum_fewer_facts_are_overdeleted(cli: Cli, tutors: Path) -> None:
    (update,) = statistics(cli, tutors, "--algorithm", "dred")["commits"]
    assert update["numbers"]["|D|"] == 3


def test_tables_are_printed_with_a_legend(cli: Cli, tutors: Path) -> None:
    options = ("--algorithm", "dred", "--one-stratum", "--stats", "-", "-D", "out")
    code, out, err = cli("apply", "tutors.dl", "a.changes", *options)
    assert (code, err) == (0, "")
    lines = out.split("\n")
    assert lines[0] == "update 1"
    assert lines[1].split()[-6:] == ["deleted", "added", "|D|", "DR2", "DR4", "DR5"]
    assert lines[3].split()[0] == "all"
    assert lines[3].split()[-6:] == ["1", "0", "6", "7", "3", "4"]
    assert [line.split()[0] for line in lines[5:-1]] == ["|D|", "DR2", "DR4", "DR5"]


def test_nothing_is_printed_where_there_was_no_update(cli: Cli, tutors: Path) -> None:
    options = ("--stats", "-", "-D", "out")
    assert cli("apply", "tutors.dl", "-", *options, stdin="") == (0, "", "")


def test_deltas_and_statistics_cannot_both_be_printed(cli: Cli, tutors: Path) -> None:
    code, out, err = cli("apply", "tutors.dl", "a.changes", "--deltas", "-", "--stats", "-")
    assert (code, out) == (2, "")
    assert err == (
        "error: deltas and statistics cannot both be printed\n    write one of them to a file\n"
    )


def test_one_stratum_needs_the_local_engine(cli: Cli, tutors: Path) -> None:
    code, _, err = cli("apply", "tutors.dl", "a.changes", "--one-stratum", "--engine", "spark")
    assert code == 2
    assert err.endswith("argument --one-stratum: only with --engine local\n")


# What really ran.

STEPS = ".decl a(x: number) .decl b(x: number) b(x) :- a(x). b(x + 10) :- a(x)."
LOOPS = ".decl e(x: number, y: number) p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z)."
PAIRS = ".decl e(x: number, y: number) p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z)."
RING = {"e": [(i, (i + 1) % 6) for i in range(6)] + [(0, 3)]}
RAN = [
    (STEPS, "dred", "dred"),
    (STEPS, "bf", "bf (in one step)"),
    (STEPS, "aged", "check (in one step)"),
    (STEPS, "counting", "counting"),
    (STEPS, "dredc-mod", "dredc"),
    (STEPS, "bfc-mod", "bfc (by sets)"),
    (LOOPS, "dred", "dred"),
    (LOOPS, "bf", "bf (fact by fact)"),
    (LOOPS, "bfc", "bfc (fact by fact)"),
    (LOOPS, "counting", "counting (by rounds)"),
    (LOOPS, "aged", "aged"),
    (LOOPS, "recompute", "recompute"),
    (PAIRS, "dredc-mod", "dredc-mod (the closure alone)"),
    (PAIRS, "bfc-mod", "bfc-mod (the closure alone)"),
]


@pytest.mark.parametrize(("program", "algorithm", "named"), RAN)
def test_statistics_name_what_ran(program: str, algorithm: str, named: str) -> None:
    facts = {"a": [(n,) for n in range(20)]} if program == STEPS else RING
    db = Database(program, facts)
    name, rows = next(iter(facts.items()))
    with db.transaction(algorithm=algorithm) as tx:
        tx.delete(name, rows[-1:])
    assert tx.report is not None
    assert [work.named for work in tx.report.works] == ["input", named]


@pytest.mark.parametrize("algorithm", ["aged", "auto"])
def test_nothing_is_checked_where_nothing_is_lost(algorithm: str) -> None:
    db = Database(STEPS, {"a": [(1,)]})
    with db.transaction(algorithm=algorithm) as tx:
        tx.insert("a", [(2,)])
    assert [work.named for work in tx.report.works] == ["input", "insert (in one step)"]


def test_marks_say_what_deleted_them() -> None:
    db = Database(LOOPS, RING)
    done = list(db.stream("+e(7, 8). commit. -e(7, 8). commit.", "marking", algorithm="bf"))
    (work,) = done[1].report.works
    assert (work.named, work.why) == ("marks", "marked by the update before")
    assert (work.relations, work.deleted, work.instances) == (("e", "p"), 2, 0)


OVERLAPPING = [
    (STEPS, "auto", "insert", "check (in one step)"),
    (STEPS, "bf", "bf", "bf (in one step)"),
    (STEPS, "bfc", "bfc", "bfc (in one step)"),
    (LOOPS, "auto", "insert", "aged"),
    (LOOPS, "dred", "dred", "dred"),
    (LOOPS, "dredc", "dredc", "dredc"),
    (LOOPS, "bf", "bf", "bf (by sets)"),
    (LOOPS, "bfc", "bfc", "bfc (by sets)"),
    (LOOPS, "counting", "counting (by rounds)", "counting (by rounds)"),
]


@pytest.mark.parametrize(("program", "algorithm", "inserting", "deleting"), OVERLAPPING)
def test_overlapping_updates_name_what_ran(
    program: str, algorithm: str, inserting: str, deleting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlap_strata, "begins_to_count", lambda *_: False)
    facts = {"a": [(n,) for n in range(20)]} if program == STEPS else RING
    db = Database(program, facts)
    ((name, rows),) = facts.items()
    new = (99,) if program == STEPS else (2, 5)
    for op, row, named in (("+", new, inserting), ("-", rows[0], deleting)):
        change = FactChange(op, name, row)  # type: ignore[arg-type]
        (done,) = db.stream([[change]], "fully-dynamic", algorithm=algorithm)
        assert [work.named for work in done.report.works] == ["input", named]
        inputs = done.report.works[0]
        assert (inputs.relations, inputs.added, inputs.deleted) == ((name,), op == "+", op == "-")


def test_changes_that_are_taken_back_at_once_leave_no_work() -> None:
    db = Database(".decl e(x: number) .decl p(x: number) p(x) :- f(x). f(1). q(x) :- e(x).")
    policy = FullyDynamic(db.core, lambda: None, Options("aged"))
    changes = [FactChange("+", "p", (7,)), FactChange("+", "e", (1,))], [FactChange("-", "p", (7,))]
    done: list[Finished] = []
    for number, update in enumerate(changes, 1):
        policy.take(Arrived(number, [(change, {}) for change in update], 0.0))
        assert policy._overlap is not None
        policy._overlap.spell = 0.0  # the relations without rules are first
        done += policy.step()
    while not done:
        done += policy.step()
    assert [each.together for each in done] == [2, 2]
    assert {work.relations for work in done[-1].report.works} == {("e",), ("q",)}
    policy.give_up()


def test_a_module_that_dissolves_is_recomputed_and_said_to_be() -> None:
    db = Database(PAIRS, RING)
    for algorithm in ("dredc-mod", "bfc-mod"):
        with db.transaction(algorithm=algorithm) as tx:
            tx.delete("e", [(0, 3)])
        with db.transaction(algorithm=algorithm) as tx:
            tx.remove_rule("p(x, z) :- p(x, y), p(y, z).")
        assert tx.report is not None
        assert [work.algorithm for work in tx.report.works] == ["recompute"]
        db = Database(PAIRS, RING)

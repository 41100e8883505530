"""Pipelines on a real session: the sinks equal a batch run over the same changes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import threading
from typing import Any

import pytest

from tests.pipeline.conftest import NEWS, PATHS, REACH, Folder, closure, edges
from tidelog.pipeline import Map, Sink, Source, Trigger
from tidelog.program.diagnostics import TidelogError

Edge = tuple[int, int]


def cdc_history(seed: int, size: int) -> tuple[list[str], set[Edge]]:
    """Numbered lines of change data capture, and the facts in the end."""
    rng, now, lines = random.Random(seed), set[Edge](), list[str]()
    for seq in range(size):
        edge = (rng.randrange(12), rng.randrange(12))
        if now and rng.random() < 0.3:
            old = rng.choice(sorted(now))
            lines += [f"update_before,{seq},{old[0]},{old[1]}"]
            lines += [f"update_after,{seq},{edge[0]},{edge[1]}"]
            now = (now - {old}) | {edge}
        elif now and rng.random() < 0.3:
            old = rng.choice(sorted(now))
            lines += [f"delete,{seq},{old[0]},{old[1]}"]
            now -= {old}
        else:
            lines += [f"insert,{seq},{edge[0]},{edge[1]}"]
            now |= {edge}
    return lines, now


def test_streaming_equals_batch(folder: Folder) -> None:
    """Change data capture with updates, in several batches and two runs, out of order."""
    lines, left = cdc_history(1, 120)
    random.Random(1).shuffle(lines)
    source = edges(mode="cdc", order="seq", options={"maxFilesPerTrigger": "2"})
    for start in range(0, 80, 16):
        folder.arrive("".join(f"{line}\n" for line in lines[start : start + 16]))
    first = folder.run(source)
    assert [done.batch for done in first.versions] == [None, 0, 1, 2]
    folder.arrive("".join(f"{line}\n" for line in lines[80:]))
    second = folder.run(source)
    assert [done.version for done in second.versions] == [5]
    assert folder.rows() == closure(left)
    assert folder.replayed() == closure(left)
    assert folder.run(source).versions == []


def test_without_order_files_apply_in_order_of_their_times(folder: Folder) -> None:
    """Spark reads the largest file of a batch first."""
    folder.arrive("+,0,1,2\n")
    folder.arrive("-,0,1,2\n" + "+,0,5,6\n" * 2_000)
    folder.arrive("+,0,1,2\n-,0,5,6\n")
    done = folder.run(edges(), trigger="once")
    assert [each.batch for each in done.versions] == [None, 0]
    assert folder.rows() == {(1, 2)}


def test_tables_facts_of_the_program_and_changes_of_rules(folder: Folder) -> None:
    (folder.path / "reach.dl").write_text(REACH + "edge(0, 1). edge(1, 2).\n")
    (folder.path / "first.json").write_text('{"a": 2, "b": 3, "w": 1}\n{"a": 9, "b": 9, "w": 0}\n')
    first = Source(
        name="first",
        format="json",
        path="first.json",
        stream=False,
        where="w > 0",
        maps=(Map("edge", ("a", "b")), Map("edge", ("b + 10", "a + 10"), "a < b")),
    )
    rules = Source(name="rules", format="changes", path="rules")
    given = {(0, 1), (1, 2), (2, 3), (13, 12)}
    folder.run(first)
    assert folder.rows() == closure(given)

    folder.arrive("+path(x, y) :- edge(y, x).\n", "rules")
    folder.arrive("-edge(1, 2).\n+edge(3,\n 4). commit.\n", "rules")
    folder.arrive("-path(x, z) :- path(x, y), edge(y, z).", "rules")
    folder.run(first, rules)
    left = (given - {(1, 2)}) | {(3, 4)}
    assert folder.rows() == left | {(y, x) for x, y in left}

    # The state has the rules, and the deletions of the program's facts.
    folder.arrive("+edge(20, 21).\n", "rules")
    folder.run(first, rules)
    left |= {(20, 21)}
    assert folder.rows() == left | {(y, x) for x, y in left} == folder.replayed()


def test_rules_as_rows(folder: Folder) -> None:
    folder.arrive("+,0,1,2\n+,0,2,3\n")
    rules = Source(
        name="rules",
        format="json",
        path="rules",
        schema="sign int, n long, text string",
        mode="rules",
        op="sign",
        rule="text",
    )
    rule = "path(x, z) :- path(x, y), edge(y, z)"
    folder.arrive(f'{{"sign": -1, "n": 1, "text": "{rule}"}}\n', "rules", "json")
    folder.run(edges(), rules)
    assert folder.rows() == {(1, 2), (2, 3)}


def test_before_and_after_in_one_row(folder: Folder) -> None:
    """In Debezium's format."""
    source = Source(
        name="rows",
        format="json",
        path="changes",
        schema="op string, before struct<x: long, y: long>, after struct<x: long, y: long>",
        mode="cdc",
        before="before",
        after="after",
        maps=(Map("edge"),),
    )
    folder.arrive(
        '{"op": "c", "after": {"x": 1, "y": 2}}\n{"op": "r", "after": {"x": 2, "y": 3}}\n'
    )
    folder.arrive(
        '{"op": "u", "before": {"x": 2, "y": 3}, "after": {"x": 2, "y": 4}}\n'
        '{"op": "u", "before": {"x": 1, "y": 2}, "after": {"x": 1, "y": 2}}\n'
    )
    folder.run(source)
    assert folder.rows() == {(1, 2), (2, 4), (1, 4)}
    folder.arrive('{"op": "d", "before": {"x": 2, "y": 4}}\n')
    folder.run(source)
    assert folder.rows() == {(1, 2)}
    folder.arrive('{"op": "u", "after": {"x": 2, "y": 4}}\n')
    with pytest.raises(TidelogError) as refusal:
        folder.run(source)
    assert str(refusal.value) == (
        "error: source rows: an update or deletion has no before\n"
        "    the database must log whole rows (in PostgreSQL: REPLICA IDENTITY FULL)"
    )


def test_a_repeated_batch_is_skipped(folder: Folder) -> None:
    source = edges()
    folder.arrive("+,0,1,2\n")
    folder.run(source)
    folder.arrive("-,0,1,2\n+,0,2,3\n")
    folder.run(source)
    commits = folder.path / "state" / "checkpoint" / "edges" / "commits"
    last = max((p for p in commits.iterdir() if not p.name.startswith(".")), key=lambda p: p.name)
    last.unlink()
    (commits / f".{last.name}.crc").unlink()
    again = folder.run(source)
    assert again.versions == []
    assert last.exists()
    assert folder.rows() == {(2, 3)} == folder.replayed()


def test_another_checkpoint_is_rejected(folder: Folder) -> None:
    source = edges(order="seq")
    folder.arrive("+,1,1,2\n")
    folder.arrive("-,2,1,2\n+,3,2,3\n")
    folder.run(source)
    checkpoint = folder.path / "state" / "checkpoint"
    shutil.rmtree(checkpoint)
    with pytest.raises(TidelogError) as refusal:
        folder.run(source)
    lines = str(refusal.value).split("\n")
    assert lines[0] == ("error: source edges: the checkpoint does not belong to the state")
    assert lines[2] == (
        f"    restore {checkpoint / 'edges'}, or run once with --adopt edges "
        "to read the source from the beginning"
    )
    before = folder.rows()
    adopted = folder.run(source, adopt=("edges",))
    assert [done.changes for done in adopted.versions] == [0]  # the state has all changes
    assert folder.rows() == before == {(2, 3)}
    folder.arrive("+,4,3,4\n")
    folder.run(source)
    assert folder.rows() == closure([(2, 3), (3, 4)])


def test_a_state_older_than_the_checkpoint_is_rejected(folder: Folder) -> None:
    source = edges()
    folder.arrive("+,0,1,2\n")
    folder.run(source)
    shutil.copytree(folder.path / "state", folder.path / "backup")
    folder.arrive("+,0,2,3\n")
    folder.run(source)
    for name in ("commits", "data"):
        shutil.rmtree(folder.path / "state" / name)
        shutil.copytree(folder.path / "backup" / name, folder.path / "state" / name)
    folder.arrive("+,0,3,4\n")
    with pytest.raises(TidelogError, match="received batch 2, but the state has batches up to 0"):
        folder.run(source)


def test_a_bad_row_stops_the_pipeline_and_changes_nothing(folder: Folder) -> None:
    source = edges()
    folder.arrive("+,0,1,2\n")
    folder.run(source)
    bad = folder.arrive("+,0,2,3\n?,0,3,4\n")
    with pytest.raises(TidelogError) as refusal:
        folder.run(source)
    assert str(refusal.value).startswith(
        "error: source edges: unknown value '?' of op\n    expected one of insert, i,"
    )
    assert folder.rows() == {(1, 2)}
    bad.write_text("+,0,2,3\n+,0,,4\n")
    with pytest.raises(TidelogError, match="source edges: edge: column x contains nulls"):
        folder.run(source)
    bad.write_text("+,0,2,3\n")
    folder.run(source)
    assert folder.rows() == closure([(1, 2), (2, 3)]) == folder.replayed()


def test_errors_in_texts_have_a_position(folder: Folder) -> None:
    source = Source(name="texts", format="changes", path="changes")
    folder.arrive("+edge(1, 2).\n+egde(2, 3).\n")
    with pytest.raises(TidelogError) as refusal:
        folder.run(source)
    assert str(refusal.value).startswith("0001.csv:2:2: error: ")


def test_new_and_deleted_sinks_start_with_all_facts(folder: Folder) -> None:
    source = edges()
    folder.arrive("+,0,1,2\n+,0,2,3\n")
    folder.run(source, sinks=())
    late = Sink(name="late", relation="path", path="out/late", format="json")
    folder.run(source, sinks=(PATHS, NEWS, late))
    assert folder.rows() == closure([(1, 2), (2, 3)]) == folder.replayed()
    assert len(list((folder.path / "out" / "late" / "current").glob("*.json"))) == 1
    shutil.rmtree(folder.path / "out")
    folder.arrive("-,0,1,2\n")
    folder.run(source, sinks=(PATHS, NEWS))
    assert folder.rows() == {(2, 3)} == folder.replayed()


def test_a_folder_with_other_files_is_rejected(folder: Folder) -> None:
    (folder.path / "out" / "paths").mkdir(parents=True)
    (folder.path / "out" / "paths" / "mine.txt").write_text("keep me")
    with pytest.raises(TidelogError, match="has files that the pipeline did not write"):
        folder.run(edges())
    shutil.rmtree(folder.path / "out")
    folder.run(edges(), sinks=(PATHS,))
    twin = Sink(name="twin", relation="edge", path="out/paths")
    with pytest.raises(TidelogError, match="belongs to another sink"):
        folder.run(edges(), sinks=(twin,))


def test_feeds_in_other_formats(folder: Folder, spark: Any) -> None:
    kinds = ("parquet", "csv", "json")
    feeds = tuple(
        Sink(name=each, relation="path", kind="changes", format=each, path=f"out/{each}")
        for each in kinds
    )
    folder.arrive("+,0,1,2\n")
    folder.run(edges(), sinks=feeds)
    folder.arrive("-,0,1,2\n+,0,2,3\n")
    folder.run(edges(), sinks=feeds)
    wanted = {(1, 2, "+", 2), (1, 2, "-", 3), (2, 3, "+", 3)}
    for each in kinds:
        reader = spark.read.schema("x long, y long, op string, version long")
        frame = reader.option("header", True).format(each).load(str(folder.path / "out" / each))
        assert {tuple(row) for row in frame.collect()} == wanted


def test_sinks_through_sparks_writer(folder: Folder, spark: Any) -> None:
    sinks = (
        Sink(name="table", relation="path", format="orc", path="out/table"),
        Sink(name="feed", relation="path", kind="changes", format="orc", path="out/feed"),
    )
    folder.arrive("+,0,1,2\n")
    folder.run(edges(), sinks=sinks)
    folder.arrive("-,0,1,2\n+,0,2,3\n")
    folder.run(edges(), sinks=sinks)

    def shown(name: str) -> set[tuple[Any, ...]]:
        frame = spark.read.format("orc").load(str(folder.path / "out" / name))
        return {tuple(row) for row in frame.collect()}

    assert shown("table") == {(2, 3)}
    assert shown("feed") == {(1, 2, "+", 2), (1, 2, "-", 3), (2, 3, "+", 3)}


def test_a_changed_program_is_rejected(folder: Folder) -> None:
    folder.run(edges())
    (folder.path / "reach.dl").write_text(REACH + "// a remark\nedge(1, 2).\n")
    folder.run(edges())  # facts of the program are those of the first run
    assert folder.rows() == set()
    (folder.path / "reach.dl").write_text(REACH + "path(x, x) :- edge(x, _).\n")
    with pytest.raises(
        TidelogError, match=r"the rules of .*reach\.dl have changed since the state"
    ):
        folder.run(edges())


def test_errors_of_spark_take_one_line(folder: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TidelogError) as refusal:
        folder.run(edges(maps=(Map("edge", ("x", "nowhere")),)))
    assert str(refusal.value).startswith("error: Spark: [UNRESOLVED_COLUMN")
    assert "\n" not in str(refusal.value)
    with pytest.raises(TidelogError) as refusal:
        folder.run(edges(maps=(Map("edge", ("x", "op")),)))
    assert str(refusal.value) == (
        "error: source edges: column y of edge has type number, but the source has string\n"
        "    convert it in `columns`: cast(… as …)"
    )
    assert capfd.readouterr().err == ""


def test_a_continuous_run_ends_at_a_signal(folder: Folder) -> None:
    """Two streams at once, stopped between two batches."""
    more = edges(name="more", path="more")
    (folder.path / "more").mkdir()
    pipeline = folder.pipeline(edges(), more, trigger=Trigger("continuous", "100 milliseconds"))
    folder.arrive("+,0,1,2\n")
    folder.arrive("+,0,2,3\n", "more")
    seen = []

    def show(done: Any) -> None:
        seen.append(done.cause)
        if len(seen) == 3:
            folder.arrive("+,0,3,4\n")
        if len(seen) == 4:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    summary = pipeline.run(folder._spark, show=show)
    assert signal.getsignal(signal.SIGINT) is before
    assert summary.interrupted
    assert sorted(seen[1:3]) == ["edges", "more"]
    assert seen[3] == "edges"
    assert folder.rows() == closure([(1, 2), (2, 3), (3, 4)]) == folder.replayed()


def test_a_reader_keeps_the_version_that_it_reads(folder: Folder) -> None:
    source = edges()
    folder.arrive("+,0,1,2\n")
    folder.run(source)
    current = (folder.path / "out" / "paths" / "current").resolve()
    before = {path.name: path.read_bytes() for path in current.iterdir()}
    folder.arrive("-,0,1,2\n")
    folder.run(source)
    assert {path.name: path.read_bytes() for path in current.iterdir()} == before
    assert folder.rows() == set()


@pytest.mark.parametrize("algorithm", ["dred", "bfc", "recompute"])
def test_algorithms(folder: Folder, algorithm: str) -> None:
    folder.arrive("+,0,1,2\n+,0,2,3\n+,0,3,1\n")
    folder.run(edges(), algorithm=algorithm)
    folder.arrive("-,0,2,3\n")
    folder.run(edges(), algorithm=algorithm)
    assert folder.rows() == closure([(1, 2), (3, 1)])


def test_sockets(folder: Folder) -> None:
    """A socket cannot repeat rows: a run ends after it has committed the whole batch."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            connection, _ = server.accept()
            connection.sendall(b"1 2\n2 3\n")
            done.wait(60)
            connection.close()

        done = threading.Event()
        thread = threading.Thread(target=serve)
        thread.start()
        source = Source(
            name="line",
            format="socket",
            options={"host": "127.0.0.1", "port": str(port)},
            maps=(Map("edge", tuple(f"cast(split(value, ' ')[{i}] as long)" for i in (0, 1))),),
        )
        pipeline = folder.pipeline(source, trigger=Trigger("continuous", "100 milliseconds"))
        taken = []

        def show(version: Any) -> None:
            taken.append(version.changes)
            if sum(taken) == 2:
                os.kill(os.getpid(), signal.SIGTERM)

        pipeline.run(folder._spark, show=show)
        done.set()
        thread.join()
    assert folder.rows() == closure([(1, 2), (2, 3)])


@pytest.mark.parametrize("order", ["seq", None])
def test_on_sparks_engine(folder: Folder, order: str | None) -> None:
    """With the Spark engine; the second run restores the materialisation."""
    source = edges(mode="cdc", order=order)
    lines, left = cdc_history(2, 30)
    for start in (0, 20):
        folder.arrive("".join(f"{line}\n" for line in lines[start : start + 20]))
        folder.run(source, engine="spark")
    folder.arrive("".join(f"{line}\n" for line in lines[40:]) + "insert,99,100,101\n")
    folder.run(source, engine="spark")
    left |= {(100, 101)}
    assert folder.rows() == closure(left) == folder.replayed()


def test_a_derived_nan_ends_the_run(folder: Folder) -> None:
    """As docs/pipeline.md documents; a rule can filter NaN out."""
    (folder.path / "reach.dl").write_text(
        ".decl given(x: float)\n.decl zero(x: float)\nzero(x - x) :- given(x).\n"
        '.decl number(x: float)\nnumber(x) :- zero(x), x != to_float("nan").\n'
    )
    source = Source(
        name="given", format="csv", path="changes", schema="x double", maps=(Map("given"),)
    )
    folder.arrive("1.5\n")
    sinks = tuple(Sink(name=name, relation=name, path=f"out/{name}") for name in ("zero", "number"))
    assert folder.run(source, sinks=sinks).version == 2
    folder.arrive("Infinity\n")
    with pytest.raises(TidelogError, match="zero: column x contains NaN"):
        folder.run(source, sinks=sinks)
    assert folder.pipeline(source, sinks=sinks).status().version == 2  # type: ignore[union-attr]
    assert folder.run(source, sinks=sinks[1:]).version == 3
    assert folder.rows("number") == {(0.0,)}

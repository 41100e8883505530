"""The tree: versions agree, the package is whole, and nothing unfinished or local is in it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tidelog

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BINARY = {".gz", ".png", ".parquet"}


def _tracked() -> list[Path]:
    """Files of the project: those that git does not ignore, or all if there is no git."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout.decode()
        paths = [ROOT / name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        skipped = {".venv", "__pycache__", ".git", "build", "dist"}
        paths = [p for p in ROOT.rglob("*") if not skipped & {*p.relative_to(ROOT).parts}]
    return [p for p in paths if p.is_file() and p.suffix not in BINARY]


TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8", errors="replace")
    for path in _tracked()
}


def _with(pattern: str, *, besides: str = "") -> list[str]:
    found = re.compile(pattern)
    here = Path(__file__).relative_to(ROOT).as_posix()
    return [
        f"{name}:{number}: {line.strip()[:80]}"
        for name, text in TEXTS.items()
        if name != here and not (besides and re.match(besides, name))
        for number, line in enumerate(text.splitlines(), 1)
        if found.search(line)
    ]


def test_no_machine_paths() -> None:
    """Nothing that is true on one machine only."""
    assert _with(r"(?<![\w.])/(work|home|root|Users|tmp)/\w") == []


def test_nothing_is_left_to_do() -> None:
    assert _with(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError") == []


def test_one_version() -> None:
    assert PROJECT["project"]["version"] == tidelog.__version__


def test_the_version_has_an_entry_in_the_changelog() -> None:
    versions = re.findall(r"^## (\S+)", TEXTS["CHANGELOG.md"], flags=re.MULTILINE)
    assert versions[0] == tidelog.__version__


def test_python_versions_agree() -> None:
    needed = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert f"Python {needed} or later" in TEXTS["README.md"]
    assert PROJECT["tool"]["mypy"]["python_version"] == needed


def test_pinned_packages_cover_what_the_project_needs() -> None:
    def name(requirement: str) -> str:
        return re.split(r"[\[<>=~! ;]", requirement)[0].lower().replace("_", "-")

    lines = [line for line in TEXTS["requirements.txt"].splitlines() if line[:1].isalpha()]
    assert all(re.match(r"[\w.\-\[\]]+==", line) for line in lines)
    needed = {name(requirement) for requirement in PROJECT["project"]["dependencies"]}
    assert needed <= {name(line) for line in lines}


@pytest.mark.slow
def test_the_installed_package_is_whole(tmp_path: Path) -> None:
    """`pip install .` installs every module, and the mark of a typed package."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tidelog", source / "tidelog", ignore=unwanted)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--no-compile"]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        *options,
        "--target",
        str(target),
        str(source),
    ]
    subprocess.run(command, check=True, capture_output=True)

    def files(folder: Path) -> set[str]:
        return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}

    assert files(target / "tidelog") == files(source / "tidelog")
    assert "py.typed" in files(target / "tidelog")
    assert (target / "bin" / "tidelog").is_file()

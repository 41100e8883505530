"""Run the pipeline in this folder, kill it in the middle of a batch, and run it again.

    python examples/pipeline/run.py

The example runs in a temporary folder. It needs PySpark and Java.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent


def run(folder: Path, crash_at: str = "") -> int:
    """`tidelog pipeline run`; the process kills itself (SIGKILL) at the named point."""
    command = [sys.executable, "-m", "tidelog", "pipeline", "run", "pipeline.toml"]
    environment = {**os.environ, "TIDELOG_CRASH_AT": crash_at}
    quiet = subprocess.DEVNULL if crash_at else None  # Java complains when Python is killed
    return subprocess.run(
        command, cwd=folder, env=environment, stderr=quiet, check=False
    ).returncode


def deliver(folder: Path) -> None:
    """Add files one after the other, each atomically, so that readers never see half a file."""
    inbox = folder / "inbox"
    inbox.mkdir()
    for file in sorted((HERE / "changes").iterdir()):
        hidden = inbox / f".{file.name}"
        hidden.write_bytes(file.read_bytes())
        hidden.rename(inbox / file.name)
        time.sleep(0.02)


def show(folder: Path) -> None:
    current = (folder / "out" / "reach" / "current").resolve()
    rows = [line for part in current.glob("part-*") for line in part.read_text().splitlines()[1:]]
    print(f"reach: {len(rows)} rows in version {int(current.name)}")
    for file in sorted((folder / "out" / "news").glob("*.changes")):
        print(f"news of version {int(file.stem)}:")
        print("".join(f"  {line}\n" for line in file.read_text().splitlines()[:-1]), end="")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "pipeline"
        folder.mkdir()
        shutil.copy(HERE / "pipeline.toml", folder)
        shutil.copytree(HERE.parent / "roads", folder.parent / "roads")
        deliver(folder)

        print("== Killed before the commit of the second file's version")
        assert run(folder, "before-commit:3") == -9
        show(folder)

        print("== Run again: it continues after the last version")
        assert run(folder) == 0
        show(folder)


if __name__ == "__main__":
    main()

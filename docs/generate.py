"""Runs the commands and programs of the documents, and writes their output below them.

    python docs/generate.py            rewrite the documents
    python docs/generate.py --check    only show what is out of date
    python docs/generate.py --tables   rewrite only the tables of registries, which runs nothing

A document is worked through from top to bottom, in one empty folder that has the
project's `examples/` in it:

- a fenced block with a name after its language (`datalog reach.dl`) is written to that file;
- in a `console` block, lines that start with `$ ` are commands, each followed by its output;
- `python` blocks run one after the other, in one namespace, and the output of one stands in
  the `text` block right below it.

Tables of registries come from `tables.py`. Everything else is unchanged.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import tables

ROOT = Path(__file__).parent.parent
DOCUMENTS = (
    "README.md",
    "docs/index.md",
    "docs/getting-started.md",
    "docs/python.md",
    "docs/command-line.md",
    "docs/changes.md",
    "docs/explanations.md",
    "docs/files.md",
    "docs/streams.md",
    "docs/dbsp.md",
    "docs/spark.md",
    "docs/rdf.md",
)
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SECONDS = 120  # for one command


def generate(text: str, folder: Path) -> str:
    """The document with the current outputs of its commands and programs."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    names: dict[str, object] = {"__name__": "__main__"}
    printed: str | None = None  # by the last python block, until a text block takes it

    def run(block: re.Match[str]) -> str:
        nonlocal printed
        language, name, content = block.groups()
        if name is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
        elif language == "console":
            content = session(content, folder)
        elif language == "python":
            printed = execute(content, folder, names)
        elif language == "text" and printed is not None:
            content, printed = printed, None
        return f"```{language}{' ' + name if name else ''}\n{content}```"

    return BLOCK.sub(run, text)


def session(content: str, folder: Path) -> str:
    """The commands of a console block, each with its output, errors included."""
    paths = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    environment = {**os.environ, "PATH": paths, "COLUMNS": "80"}
    shown, code = "", 0
    for line in content.splitlines():
        if line.startswith("$ "):
            # A shell of its own for each command; `$?` is passed on from the one before.
            done = subprocess.run(
                ["sh", "-c", f"(exit {code}); {line[2:]}"],
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
                check=False,
            )
            code = done.returncode
            shown += f"{line}\n{_whole_lines(done.stdout.decode())}"
    return shown


def execute(code: str, folder: Path, names: dict[str, object]) -> str:
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out):
        exec(compile(code, "<document>", "exec"), names)
    return _whole_lines(out.getvalue())


def _whole_lines(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def current(document: str, only_tables: bool = False) -> tuple[str, str]:
    """A document's text, and what it should be."""
    text = (ROOT / document).read_text(encoding="utf-8")
    if only_tables or document not in DOCUMENTS:
        return text, tables.filled(text)
    with tempfile.TemporaryDirectory() as folder:
        return text, generate(tables.filled(text), Path(folder))


def with_tables() -> list[str]:
    """The other documents that have tables of registries."""
    pages = {
        page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
        for page in sorted((ROOT / "docs").glob("*.md"))
    }
    return [name for name in pages if tables.PLACE.search(pages[name]) and name not in DOCUMENTS]


def main(arguments: list[str]) -> int:
    stale = False
    for document in (*DOCUMENTS, *with_tables()):
        text, new = current(document, "--tables" in arguments)
        if text == new:
            continue
        stale = True
        lines = text.splitlines(), new.splitlines()
        print("\n".join(difflib.unified_diff(*lines, document, document, lineterm="", n=1)))
        if "--check" not in arguments:
            (ROOT / document).write_text(new, encoding="utf-8")
    return int(stale and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

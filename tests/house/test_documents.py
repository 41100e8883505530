"""Documents say what is so: outputs, names, options, links."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import pkgutil
import re
import unicodedata
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import pytest

import tidelog
from tidelog.cli import main
from tidelog.plan import PASSES

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md")
    for path in ROOT.glob(pattern)
)
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = _generator()


@pytest.mark.slow
@pytest.mark.parametrize("document", GENERATOR.DOCUMENTS)
def test_shown_output_is_real(document: str) -> None:
    """If this fails, look at the difference, and run `python docs/generate.py`."""
    text, new = GENERATOR.current(document)
    assert new == text


@pytest.mark.parametrize("page", [p for p in PAGES if p not in GENERATOR.DOCUMENTS])
def test_only_generated_pages_show_output(page: str) -> None:
    assert "```console" not in read(page)


def test_the_first_screen_is_short() -> None:
    """A program in five lines, and the same in six of Python."""
    blocks = re.findall(r"^```(\w+).*?\n(.*?)^```$", read("README.md"), re.DOTALL | re.MULTILINE)
    program = next(code for language, code in blocks if language == "datalog")
    python = next(code for language, code in blocks if language == "python")
    assert len(program.splitlines()) == 5
    assert len([line for line in python.splitlines() if line.strip()]) == 6


ACTIVATE = ". .venv/bin/activate"


def test_the_first_lines_put_the_command_on_the_path() -> None:
    assert any(line.startswith(ACTIVATE) for line in read("README.md").splitlines()[:10])
    recipe = read("Makefile").split("\ndemo: setup\n")[1].split("\n\n")[0]
    assert recipe.splitlines()[-1].endswith('in this shell: . $(BIN)/activate"')
    for page in PAGES:  # where `make demo` sets up, the next line puts the command on the path
        for after in re.findall(r"^make demo.*\n(.*)$", read(page), flags=re.MULTILINE):
            assert after.startswith(ACTIVATE) or page == "CONTRIBUTING.md"


@pytest.mark.parametrize("page", PAGES)
def test_make_knows_what_documents_ask_of_it(page: str) -> None:
    targets = set(re.findall(r"^(\w+):", read("Makefile"), flags=re.MULTILINE))
    asked = re.findall(r"(?:^|`)make (\w+)", read(page), flags=re.MULTILINE)
    assert set(asked) <= targets


def anchors(text: str) -> set[str]:
    """Headings as a page's own address spells them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), flags=re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for link in LINK.findall(FENCE.sub("", read(page))):
        if re.match(r"https?:|mailto:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), f"{page}: {link}"
        assert target.resolve().is_relative_to(ROOT), f"{page}: {link} leaves the project"
        if anchor:
            found = anchors(target.read_text(encoding="utf-8"))
            assert unicodedata.normalize("NFC", anchor) in found, f"{page}: {link}"


def test_every_page_can_be_found() -> None:
    """From the README and the index, through links."""
    seen, todo = set[str](), ["README.md", "docs/index.md"]
    while todo:
        page = todo.pop()
        if page in seen or not page.endswith(".md"):
            continue
        seen.add(page)
        for link in LINK.findall(FENCE.sub("", read(page))):
            target = ((ROOT / page).parent / unquote(link.partition("#")[0])).resolve()
            if target.is_file() and target.is_relative_to(ROOT):
                todo.append(target.relative_to(ROOT).as_posix())
    assert set(PAGES) <= seen


def section(text: str, heading: str) -> str:
    found = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert found is not None, f"no section {heading}"
    return found[1]


def test_public_names_equal_the_documented_ones() -> None:
    table = section(read("docs/python.md"), "Names")
    documented = re.findall(r"^\| \[`(\w+)`\]", table, flags=re.MULTILINE)
    assert sorted(documented) == sorted(tidelog.__all__)
    assert all(getattr(tidelog, name).__doc__ for name in tidelog.__all__)


def told(*command: str) -> str:
    """What `tidelog COMMAND --help` prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main([*command, "--help"]) == 0
    return out.getvalue()


def options(help_text: str) -> set[str]:
    lines = re.findall(r"^  (-.*)$", help_text, flags=re.MULTILINE)
    named = (re.split(r"  +", line)[0] for line in lines)
    return {option for each in named for option in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", each)}


def described(command: str) -> str:
    """A command's section, and those of the shared options that its table of options links to."""
    page = read("docs/command-line.md")
    own = section(page, f"tidelog {command}")
    shared = dict(re.findall(r"^### (.*?)$(.*?)(?=^##|\Z)", page, flags=re.MULTILINE | re.DOTALL))
    linked = re.findall(r"^\| \[(.*?)\]\(#.*?\) \|", own, flags=re.MULTILINE)
    return own + "".join(shared[name.capitalize()] for name in linked)


COMMANDS = re.findall(r"^    ([\w-]+)  ", told().split("positional")[1], flags=re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_options_equal_the_documented_ones(command: str) -> None:
    text = described(command)
    rows = re.findall(r"^\| (`-.*?) \|", text, flags=re.MULTILINE)
    documented = {option for row in rows for option in re.findall(r"`(--?[\w-]+)", row)}
    found = options(told(command))
    assert {"-h", "--help"} <= found
    assert documented == found


def test_commands_equal_the_documented_ones() -> None:
    text = read("docs/command-line.md")
    assert "run" in COMMANDS
    assert re.findall(r"^## tidelog (.*)$", text, flags=re.MULTILINE) == COMMANDS
    top = text.split("\n## ")[0]
    assert all(re.search(rf"{option}\b", top) for option in options(told()))


def test_passes_equal_the_documented_ones() -> None:
    table = section(read("docs/architecture.md"), "The passes")
    assert re.findall(r"^\| `(\w+)`", table, re.M) == [each.__name__ for each in PASSES]


def test_every_file_of_maintenance_is_described() -> None:
    table = section(read("docs/architecture.md"), "Maintenance")
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("tidelog/maintain/**/*.py")}
    named = set(re.findall(r"`(tidelog/maintain/[\w/]+\.py)`", table))
    assert named == {name for name in files if not name.endswith("__init__.py")}


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    pages = sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert re.findall(r"\]\((\d.*?\.md)\)", read("docs/decisions/README.md")) == pages
    for number, page in enumerate(pages, 1):
        assert page.startswith(f"{number:03d}-")
        assert read(f"docs/decisions/{page}").startswith(f"# {number:03d}: ")


def test_the_site_lists_every_page() -> None:
    nav = read("mkdocs.yml").split("\nnav:\n")[1]
    listed = sorted(re.findall(r": (\S+\.md)$", nav, flags=re.MULTILINE))
    pages = [page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")]
    shown = [page for page in pages if not re.match(r"decisions/\d", page)]
    assert listed == sorted([*shown, "changelog.md", "contributing.md", "examples.md"])


CODE = re.compile(r"`((?:tidelog|tests|bench|examples|docs)/[\w./-]+)(?:::(\w+))?`")


@pytest.mark.parametrize("page", [p for p in PAGES if p != "CHANGELOG.md"])
def test_code_that_is_named_is_there(page: str) -> None:
    """Files and folders in code spans, and functions and classes as `path::name`."""
    for path, name in CODE.findall(FENCE.sub("", read(page))):
        assert (ROOT / path).exists(), f"{page}: {path}"
        if name:
            defined = rf"^\s*(?:def|class) {name}\b"
            assert re.search(defined, read(path), re.MULTILINE), f"{page}: {path}::{name}"


def test_pages_that_the_code_names_are_there() -> None:
    for path in sorted(ROOT.glob("tidelog/**/*.py")):
        for page in re.findall(r"\bdocs/[\w/-]+\.md", path.read_text(encoding="utf-8")):
            assert (ROOT / page).exists(), f"{path.relative_to(ROOT)}: {page}"


@pytest.mark.parametrize("page", [p for p in PAGES if p != "CHANGELOG.md"])
def test_names_in_the_package_are_there(page: str) -> None:
    for name in re.findall(r"`@?(tidelog(?:\.\w+)+)[`(]", FENCE.sub("", read(page))):
        assert pkgutil.resolve_name(name) is not None, f"{page}: {name}"

"""Fits the documents to MkDocs, so that they read the same in a repository browser and on the site.

Pages outside `docs/` join the site, links to other files of the repository become plain text, and
the name after the language of a fenced block becomes its title.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from urllib.parse import quote, unquote

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
# By their path in the repository, their path on the site.
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/README.md": "examples.md",
}
SOURCE = {page: source for source, page in OUTSIDE.items()}
# A fenced block, with the name that may follow its language, or a link.
PART = re.compile(r"^```(\w+) (\S+)$|^```.*?^```$|\[([^\]\n]*)\]\(([^)\s]+)\)", re.M | re.S)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, page in OUTSIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    uri = page.file.src_uri
    source = SOURCE.get(uri, f"docs/{uri}")

    def fitted(part: re.Match[str]) -> str:
        language, title, text, target = part.groups()
        if title is not None:
            return f'```{language} title="{title}"'
        return part[0] if target is None else link(text, target, source, uri)

    return PART.sub(fitted, markdown)


def link(text: str, target: str, source: str, uri: str) -> str:
    """A link of the file `source`, as the page `uri` has it."""
    path, _, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", path):
        return f"[{text}]({target})"
    found = posixpath.normpath(posixpath.join(posixpath.dirname(source), unquote(path)))
    if found in OUTSIDE:
        found = f"docs/{OUTSIDE[found]}"
    if not found.startswith("docs/") or (ROOT / found).is_dir():
        return text
    place = posixpath.relpath(found.removeprefix("docs/"), posixpath.dirname(uri) or ".")
    return f"[{text}]({quote(place)}{'#' + anchor if anchor else ''})"

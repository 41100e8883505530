"""The W3C's names of rules, which stand in comments of the rule tables."""

from __future__ import annotations

import re
from importlib.resources import files

_NAMED = re.compile(r"// ((?:(?:eq|prp|cls|cax|dt|scm)-[\w-]+|rdfs\d+[ab]?|rdfD\d)[\w, -]*)")
_NAME = re.compile(r"[\w-]+")


def rules_by_name(profile: str) -> dict[str, tuple[str, ...]]:
    """The clauses of a profile's tables by the W3C's names of the rules, trivial ones included.

    A clause that implements two rules appears under both names.
    """
    found: dict[str, tuple[str, ...]] = {}
    for ending in ("", "-trivial", "-axioms"):
        text = files("tidelog.rdf").joinpath("rules", f"{profile}{ending}.dl")
        names: list[str] = []
        before = ""
        for line in text.read_text(encoding="utf-8").splitlines():
            if line.startswith("//"):
                names = names if before.startswith("//") else _names(line)
            elif line and not line.startswith(".decl"):
                for name in names:
                    found[name] = (*found.get(name, ()), line)
            before = line
    return found


def _names(comment: str) -> list[str]:
    match = _NAMED.match(comment)
    return _NAME.findall(match[1]) if match else []

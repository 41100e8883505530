"""docs/rdf-rules.md lists every rule with the case that tests it.

`python -m tests.rdf.test_documented` updates the list.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.rdf import cases
from tests.rdf.cases import Case
from tidelog.rdf import profiles

PAGE = Path(__file__).parent.parent.parent / "docs" / "rdf-rules.md"
BEGIN, END = "<!-- the rules: begin -->", "<!-- the rules: end -->"
TITLES = {
    "rdf": "RDFS",
    "eq": "Table 4: equality",
    "prp": "Table 5: properties",
    "cls": "Table 6: classes",
    "cax": "Table 7: class axioms",
    "dt": "Table 8: datatypes",
    "scm": "Table 9: the schema",
}


def kind(profile: str, name: str) -> str:
    """The file of a profile that has a rule."""
    plain, trivial = profiles.program(profile), profiles.program(profile, trivial=True)
    clauses = [profiles.expand(clause) for clause in profiles.named(profile)[name]]
    if all(clause in plain for clause in clauses):
        return ""
    return "trivial" if all(clause in trivial for clause in clauses) else "axioms"


def row(profile: str, name: str, case: Case) -> str:
    then = f"inconsistent: `{case.then[2:]}`" if case.then.startswith("!") else f"`{case.then}`"
    given = f"`{case.given}`" if case.given else ""
    return f"| {name} | {given} | {then} | {kind(profile, name)} |"


def rules() -> str:
    lines: list[str] = []
    for profile, table in (("rdfs", cases.RDFS), ("owl2rl", cases.OWL2RL)):
        for start, title in TITLES.items():
            mine = [name for name in table if re.match(rf"{start}(?:-|D|s\d)", name)]
            if mine:
                lines += ["", f"### {title}", "", "| rule | from | follows | only with |"]
                lines += ["| --- | --- | --- | --- |"]
                lines += [row(profile, name, table[name]) for name in mine]
    return "\n".join([BEGIN, *lines, "", END])


def written(text: str) -> str:
    return text[: text.index(BEGIN)] + rules() + text[text.index(END) + len(END) :]


def test_the_page_lists_every_rule() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert written(text) == text
    assert rules().count("\n| ") - 7 * 2 == len(cases.RDFS) + len(cases.OWL2RL)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

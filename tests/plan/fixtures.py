"""Fixtures are text: the name of a case, a program, and what comes of it.

    # name
    program
    ----
    result

`python -m tests.plan.fixtures` writes the results anew, to be read before they are believed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tidelog.plan import analyse
from tidelog.program.diagnostics import render
from tidelog.text import parse, to_text, value_text

HERE = Path(__file__).parent
RULE = "----\n"


def cases(name: str) -> dict[str, tuple[str, str]]:
    """Program and result by name of the case."""
    text = (HERE / f"{name}.txt").read_text(encoding="utf-8")
    found = {}
    for part in re.split(r"^# ", text, flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        program, _, result = rest.partition(RULE)
        assert title not in found, f"two cases {title}"
        found[title] = program, result.strip("\n")
    return found


def findings(program: str) -> str:
    """All that is found wrong, as a person reads it."""
    parsed = parse(program, "t.dl")
    found = (*parsed.diagnostics, *analyse(parsed.program).diagnostics)
    return "\n".join(render(diagnostic, parsed.sources) for diagnostic in found)


def core(program: str) -> str:
    """Strata, facts and rules of the core form; hidden aggregates are numbered."""
    parsed = parse(program, "t.dl")
    analysis = analyse(parsed.program)
    assert not parsed.diagnostics, findings(program)
    assert analysis.checked is not None, findings(program)
    lines = []
    for stratum in analysis.checked.strata:
        for name in stratum.relations:
            kinds = analysis.checked.relations[name].kinds
            lines.append(f"{name}: {' '.join(kinds)}".rstrip())
            for row in analysis.checked.facts.get(name, ()):
                values = (value_text(v, kind) for v, kind in zip(row, kinds, strict=True))
                lines.append(f"    {name}({', '.join(values)}).")
            stated = (rule for rule in analysis.checked.computed if rule.head.relation == name)
            lines += (f"    {to_text(rule)} // a fact" for rule in stated)
        lines += (f"    {to_text(rule)}" for rule in stratum.rules)
    text = "\n".join(lines)
    for i, name in enumerate(dict.fromkeys(re.findall(r"%agg:\w+", text))):
        text = text.replace(name, f"%agg:{i + 1}")
    return text


RESULTS: dict[str, Callable[[str], str]] = {
    "errors": findings,
    "newcomers": findings,
    "desugar": core,
}


def main() -> None:
    for name, result in RESULTS.items():
        parts = [f"# {t}\n{p}{RULE}{result(p)}\n" for t, (p, _) in cases(name).items()]
        (HERE / f"{name}.txt").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()

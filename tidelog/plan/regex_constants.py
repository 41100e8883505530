"""Regular expressions that are constants of the program are checked before it runs."""

from __future__ import annotations

import re
from typing import Literal

from tidelog.plan.draft import Draft
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.formula_walk import clause_nodes, flat
from tidelog.program.regex import InvalidPattern, UnsupportedPattern, compile_pattern
from tidelog.program.syntax import Comparison, Constant

Severity = Literal["error", "warning"]
_AROUND = re.compile(r"\(\?<?[=!]")
_BACK = re.compile(r"\\[1-9]|\\k")


def check_patterns(draft: Draft) -> Draft:
    """Refuse constant patterns of `match` that RE2 lacks, warn about invalid ones."""
    found: list[Diagnostic] = []
    faults: dict[str, tuple[str, Severity] | None] = {}
    for clause in draft.program.clauses:
        for node in flat(clause) or clause_nodes(clause):
            if type(node) is Comparison and node.op == "match" and type(node.left) is Constant:
                pattern = str(node.left.value)
                if pattern not in faults:
                    faults[pattern] = _fault(pattern)
                if fault := faults[pattern]:
                    message, severity = fault
                    found.append(Diagnostic(message, node.left.at, _advice(message), severity))
    return draft.found(found) if found else draft


def _fault(pattern: str) -> tuple[str, Severity] | None:
    try:
        compile_pattern(pattern)
    except InvalidPattern as error:
        return f"not a regular expression, so match and !match never hold: {error}", "warning"
    except UnsupportedPattern as error:
        return f"RE2 cannot read this pattern: {error}", "error"
    return None


def _advice(reason: str) -> str:
    if _AROUND.search(reason):
        return "look-ahead and look-behind are not supported; write several match, or !match"
    if _BACK.search(reason):
        return "back references are not supported; compare parts of the text with substr"
    if "repetition size" in reason:
        return "repeat at most 1000 times"
    if r"\u" in reason:
        return r"write \\x{0041} for the character with that number"
    if "escape" in reason or "trailing" in reason:
        return r"write a backslash only before punctuation, or \\d, \\s, \\w, \\b or the like"
    return "see the syntax of RE2; a backslash makes the character after it literal"

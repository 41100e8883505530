"""Regular expressions that stand in the program: what cannot be one is found before it runs.

RE2 reads them, which needs time linear in the text whatever the pattern. It has no back
references and no look-around; Soufflé's std::regex has, so these get advice of their own.
"""

from __future__ import annotations

import re

from tidelog.plan.draft import Draft
from tidelog.plan.walk import clause_nodes, flat
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.syntax import Comparison, Constant

_AROUND = re.compile(r"\(\?<?[=!]")
_BACK = re.compile(r"\\[1-9]|\\k")


def check_patterns(draft: Draft) -> Draft:
    """Find patterns of `match` that are no regular expressions; computed ones are left."""
    found: list[Diagnostic] = []
    reasons: dict[str, str] = {}
    for clause in draft.program.clauses:
        for node in flat(clause) or clause_nodes(clause):
            if type(node) is Comparison and node.op == "match" and type(node.left) is Constant:
                pattern = str(node.left.value)
                if pattern not in reasons:
                    reasons[pattern] = _fault(pattern)
                if reason := reasons[pattern]:
                    message = f"RE2 cannot read this pattern: {reason}"
                    found.append(Diagnostic(message, node.left.at, _advice(reason)))
    return draft.found(found) if found else draft


def _fault(pattern: str) -> str:
    import re2  # here, because few programs need it

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        detail = error.args[0]
        return detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
    return ""


def _advice(reason: str) -> str:
    if _AROUND.search(reason):
        return "there is no look-ahead or look-behind; write several match, or !match"
    if _BACK.search(reason):
        return "there are no back references; compare parts of the text by substr"
    if "repetition size" in reason:
        return "repeat at most 1000 times"
    if r"\u" in reason:
        return r"write \\x{0041} for the character with that number"
    if "escape" in reason or "trailing" in reason:
        return r"a backslash stands before a sign, \\d, \\s, \\w, \\b or the like"
    return "see the syntax of RE2; a backslash before a sign takes its meaning away"

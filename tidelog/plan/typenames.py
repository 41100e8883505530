"""Types by name: which kind each has, and which other types it holds."""

from __future__ import annotations

from dataclasses import replace

from tidelog.plan.draft import Draft, Type, did_you_mean, place
from tidelog.plan.graph import components
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.syntax import KINDS, Kind, TypeDecl


def resolve_types(draft: Draft) -> Draft:
    """Give every declared type its kind and leaves.

    Errors: a type declared twice, a primitive type declared anew, an unknown type, a type
    defined by itself, a union of different kinds. Faulty types are left out of the table.
    """
    found: list[Diagnostic] = []
    declared: dict[str, TypeDecl] = {}
    for decl in draft.program.types:
        first = declared.setdefault(decl.name, decl)
        if decl.name in KINDS:
            advice = "choose another name"
            found.append(Diagnostic(f"type {decl.name} is built in", decl.at, advice))
            del declared[decl.name]
        elif first is not decl:
            message = f"type {decl.name} is declared twice"
            note = f"first declared at {place(first.at)}"
            found.append(Diagnostic(message, decl.at, "remove one of them", notes=(note,)))

    kinds: dict[str, Kind] = {kind: kind for kind in KINDS}
    known = [*KINDS, *declared]
    uses = {n: [u for u in d.of if u in declared] for n, d in declared.items()}
    for cycle in components(uses):  # what a type is made of comes before it
        decl = declared[cycle[0]]
        if len(cycle) > 1 or cycle[0] in decl.of:
            message = f"type {decl.name} is defined by itself"
            note = " -> ".join(_around(uses, cycle))
            found.append(
                Diagnostic(message, decl.at, "define it by a built-in type", notes=(note,))
            )
            continue
        missing = [name for name in decl.of if name not in kinds and name not in declared]
        for name in missing:
            if draft.is_lost(name):
                continue
            advice = did_you_mean(name, (k for k in known if k != decl.name), "declare it")
            found.append(Diagnostic(f"unknown type {name}", decl.at, advice))
        if missing or any(name not in kinds for name in decl.of):
            continue
        of = sorted({kinds[name] for name in decl.of}, key=KINDS.index)
        if len(of) > 1:
            message = f"type {decl.name} is a union of {' and '.join(of)}"
            found.append(Diagnostic(message, decl.at, "a union holds types of one kind"))
            continue
        kinds[decl.name] = of[0]
    return replace(draft.found(found), types=_with_leaves(declared, kinds))


def _around(uses: dict[str, list[str]], cycle: list[str]) -> list[str]:
    """A way through the cycle back to its first type."""
    path = [cycle[0]]
    while True:
        after = next((n for n in uses[path[-1]] if n == cycle[0]), None)
        if after:
            return [*path, after]
        after = next((n for n in uses[path[-1]] if n in cycle and n not in path), None)
        if after is None:
            return [*cycle, cycle[0]]
        path.append(after)


def _with_leaves(declared: dict[str, TypeDecl], kinds: dict[str, Kind]) -> dict[str, Type]:
    """A subtype is a leaf of its own; every type that holds it holds its leaf."""

    def meant(name: str) -> str:
        while name in declared and declared[name].form == "alias":
            name = declared[name].of[0]
        return name

    holders: dict[str, list[str]] = {name: [] for name in kinds}
    for name, decl in declared.items():
        if name in kinds and decl.form == "subtype":
            holders[name].append(meant(decl.of[0]))
        elif name in kinds and decl.form == "union":
            for part in decl.of:
                holders[meant(part)].append(name)

    leaves: dict[str, set[str]] = {name: set() for name in kinds}
    for leaf in kinds:
        if leaf in declared and declared[leaf].form != "subtype":
            continue
        above = [leaf]
        while above:
            holder = above.pop()
            if leaf not in leaves[holder]:
                leaves[holder].add(leaf)
                above += holders[holder]
    return {name: Type(kind, frozenset(leaves[meant(name)])) for name, kind in kinds.items()}

"""Types by name: which kind each has, and which other types it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidelog.plan.draft import Draft, Type, place
from tidelog.plan.strongly_connected import components
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.suggestions import did_you_mean
from tidelog.program.syntax import KINDS, Attribute, Kind, TypeDecl
from tidelog.program.terms import Field, TermKind

STRUCTURED = ("record", "algebraic")


def resolve_types(draft: Draft) -> Draft:
    """Give every declared type its kind and leaves.

    Errors: a type declared twice, a primitive type declared anew, an unknown type, a type
    defined by itself, a union of different kinds, a field of no known type. Faulty types are
    left out of the table.
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
    for decl in declared.values():
        if decl.form in STRUCTURED:
            bit = 1 << len(kinds)
            kinds[decl.name] = TermKind.named(decl.name, decl.form == "record", bit)
    known = [*KINDS, *declared]
    uses = {n: [u for u in d.of if u in declared] for n, d in declared.items()}
    for cycle in components(uses):  # what a type is made of comes before it
        decl = declared[cycle[0]]
        if decl.form in STRUCTURED:
            continue
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
        structured = [name for name in decl.of if isinstance(kinds[name], TermKind)]
        if structured and decl.form != "alias":
            what = "a subtype" if decl.form == "subtype" else "a union"
            message = f"type {decl.name} is {what} of {structured[0]}, which has fields"
            found.append(Diagnostic(message, decl.at, f"write .type {decl.name} = {structured[0]}"))
            continue
        if structured:
            kinds[decl.name] = kinds[structured[0]]
            continue
        of = sorted({kinds[name] for name in decl.of}, key=KINDS.index)
        if len(of) > 1:
            message = f"type {decl.name} is a union of {' and '.join(of)}"
            advice = "the types of a union must share a built-in type"
            found.append(Diagnostic(message, decl.at, advice))
            continue
        kinds[decl.name] = of[0]
    found += _fill(draft, declared, kinds, known)
    return replace(draft.found(found), types=_with_leaves(declared, kinds))


def _fill(
    draft: Draft, declared: dict[str, TypeDecl], kinds: dict[str, Kind], known: list[str]
) -> Iterator[Diagnostic]:
    """Give record and algebraic types their fields; a faulty one is left out of the table."""
    faulty: list[str] = []
    for name, decl in declared.items():
        kind = kinds.get(name)
        if decl.form not in STRUCTURED or not isinstance(kind, TermKind):
            continue
        for branch in decl.branches:
            if branch.name in kind.constructors:
                message = f"type {name} has two branches {branch.name}"
                yield Diagnostic(message, branch.at, "rename one of them")
            fields: dict[str, Field] = {}
            for field in branch.fields:
                if field.name in fields:
                    message = f"two fields of {_of(decl, branch.name)} are called {field.name}"
                    yield Diagnostic(message, field.at, "rename one of them")
                of = kinds.get(field.type_name)
                if of is None:
                    faulty.append(name)
                    yield from _unknown_field(draft, declared, field, known)
                fields[field.name] = Field(field.name, of)
            kind.constructors[branch.name] = tuple(fields.values())
    users: dict[str, list[str]] = {}
    for name, decl in declared.items():
        for used in (*decl.of, *(field.type_name for b in decl.branches for field in b.fields)):
            users.setdefault(used, []).append(name)
    N = faulty
    while N:  # a type with a faulty one in it is faulty too
        N = [user for name in N if kinds.pop(name, None) for user in users.get(name, ())]


def _of(decl: TypeDecl, branch: str) -> str:
    return decl.name if decl.form == "record" else f"branch {branch}"


def _unknown_field(
    draft: Draft, declared: dict[str, TypeDecl], field: Attribute, known: list[str]
) -> Iterator[Diagnostic]:
    name = field.type_name
    if name not in declared and not draft.is_lost(name):
        yield Diagnostic(f"unknown type {name}", field.at, did_you_mean(name, known, "declare it"))


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
    """A subtype is a separate leaf; every type that includes it includes its leaf."""

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
        if leaf in declared and declared[leaf].form not in ("subtype", *STRUCTURED):
            continue
        above = [leaf]
        while above:
            holder = above.pop()
            if leaf not in leaves[holder]:
                leaves[holder].add(leaf)
                above += holders[holder]
    return {name: Type(kind, frozenset(leaves[meant(name)])) for name, kind in kinds.items()}

"""Functors of the program's own: what each takes and gives."""

from __future__ import annotations

from dataclasses import replace

from tidelog.plan.draft import Draft, place
from tidelog.plan.relations import unknown_type
from tidelog.program.builtin_functors import Signature, fixed
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.kind_masks import ANY, bit
from tidelog.program.syntax import FunctorDecl
from tidelog.program.terms import TermKind


def resolve_functors(draft: Draft) -> Draft:
    """A signature for every functor that is declared; its types must be known.

    One whose declaration is faulty takes and gives anything, so that its calls are not blamed.
    """
    declared: dict[str, FunctorDecl] = {}
    signatures: dict[str, Signature] = {}
    found: list[Diagnostic] = []
    for decl in draft.program.functors:
        first = declared.setdefault(decl.name, decl)
        if first is not decl:
            message = f"functor {decl.name} is declared twice"
            note = f"first declared at {place(first.at)}"
            found.append(Diagnostic(message, decl.at, "remove one of them", notes=(note,)))
            continue
        masks = []
        for name in (*decl.parameters, decl.result):
            if name not in draft.types and not draft.is_lost(name):
                found.append(unknown_type(name, decl.at, draft))
            kind = draft.types[name].kind if name in draft.types else None
            if isinstance(kind, TermKind):
                message = f"functor {decl.name} uses the type {name}, which has fields"
                found.append(Diagnostic(message, decl.at, "pass the fields one by one"))
            masks.append(bit(kind) if kind else 0)
        signatures[f"@{decl.name}"] = _signature(masks)
    return replace(draft.found(found), functors=signatures)


def _signature(masks: list[int]) -> Signature:
    *operands, gives = [mask or ANY for mask in masks]
    return fixed(*operands, gives=gives)

"""Questions answered by demand: from explicit facts, deriving only what they need."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tidelog.engine import Store, TemporaryRelations
from tidelog.maintain.materialise import materialise
from tidelog.maintain.memory import Memory
from tidelog.maintain.seminaive import Watch
from tidelog.plan.accept import Accepted
from tidelog.plan.demand import AskedProgram, Demand, demand
from tidelog.plan.query import Question
from tidelog.plan.rulebook import Rulebook
from tidelog.program.functors import calls
from tidelog.program.rules import CheckedProgram, Relation, Stratum
from tidelog.program.syntax import Program
from tidelog.program.table import Table
from tidelog.session.stated_facts import stated


def by_demand(
    engine: Store, scratch: TemporaryRelations, book: Rulebook, asked: Question, watch: Watch
) -> Table:
    """The answer, from the engine's explicit facts; the engine is left as it was.

    All that is derived has names of its own, whatever the engine has derived already. Closures
    are evaluated like other rules: their own algorithm would keep what is to be forgotten.
    """
    explicit = frozenset(engine.relations(engine.explicit))
    relations, strata = _together(book.relations, book.components, [asked])
    source = AskedProgram(relations, strata, explicit.__contains__)
    found = demand(source, [asked.relation.name])
    for relation in found.relations.values():
        engine.declare(relation)
    try:
        with scratch.scope():
            I = engine.collect(engine.explicit, sorted(found.reads & explicit))
            materialise(engine, found.strata, I, watch, Memory(modules=False), engine.explicit)
            return engine.table(f"%{asked.relation.name}^", I)
    finally:
        scratch.drop(found.relations, found.rules)


def goals_of(accepted: Accepted, asked: Sequence[Question], read: Collection[str]) -> Accepted:
    """A program that derives the answers of questions and nothing else that they do not need.

    `read` are the relations that facts are read for, besides those in the program.
    """
    accepted = stated(accepted)
    checked = accepted.checked
    facts = {*read, *checked.facts}
    relations, strata = _together(checked.relations, checked.strata, asked)
    names = [question.relation.name for question in asked]
    if can_narrow(strata, names, checked.limits):
        found = demand(AskedProgram(relations, strata, facts.__contains__), names, keep=True)
    else:
        needed = _needed(strata, names)
        found = Demand({}, tuple(needed), _mentioned(needed), frozenset())
    return _accepted(accepted, relations, found, names)


def can_narrow(
    strata: Sequence[Stratum], wanted: Sequence[str], limits: Collection[str] = ()
) -> bool:
    """May less be derived than all? Which facts subsumption, `choice-domain` and `.limitsize`
    leave, and which number `autoinc` gives, depends on all that is derived beside them."""
    needed = _needed(strata, wanted)
    if any(name in limits for stratum in needed for name in stratum.relations):
        return False
    return not any(
        stratum.pruned or any(call.functor == "autoinc" for r in stratum.rules for call in calls(r))
        for stratum in needed
    )


def _needed(strata: Sequence[Stratum], wanted: Sequence[str]) -> list[Stratum]:
    """The strata that the relations depend on, in order."""
    names, found = set(wanted), list[Stratum]()
    for stratum in reversed(strata):
        if not names.isdisjoint(stratum.relations):
            found.append(stratum)
            pruning = (rule for each in stratum.pruned for rule in each.rules)
            names.update(name for r in (*stratum.rules, *pruning) for name, _ in r.reads())
    return found[::-1]


def _together(
    relations: Mapping[str, Relation], strata: Sequence[Stratum], asked: Sequence[Question]
) -> tuple[dict[str, Relation], tuple[Stratum, ...]]:
    """The program with the rules of questions."""
    known = dict(relations)
    for question in asked:
        known[question.relation.name] = question.relation
        known.update((part.name, part) for part in question.parts)
    # Hidden relations are named by their content: two questions may share some.
    more = {stratum.relations: stratum for question in asked for stratum in question.strata}
    return known, (*strata, *more.values())


def _mentioned(strata: Sequence[Stratum]) -> frozenset[str]:
    found = {name for stratum in strata for name in stratum.relations}
    pruning = (rule for stratum in strata for each in stratum.pruned for rule in each.rules)
    return frozenset(found.union(rule.head.relation for rule in pruning))


def _accepted(
    accepted: Accepted, relations: dict[str, Relation], found: Demand, wanted: Sequence[str]
) -> Accepted:
    """What is demanded as a program."""
    checked = accepted.checked
    names = dict.fromkeys((*wanted, *sorted(found.reads)))
    kept = {name: relations[name] for name in names} | found.relations
    facts = {name: rows for name, rows in checked.facts.items() if name in kept}
    strata = found.strata
    missing = [n for n in kept if all(n not in stratum.relations for stratum in strata)]
    alone = tuple(Stratum((name,), (), ()) for name in missing)
    program = CheckedProgram(kept, found.rules, (*alone, *strata), facts, numbered=checked.numbered)
    typed = Program(functors=accepted.typed.functors)
    return Accepted(typed, program, accepted.warnings, accepted.sources)


def for_outputs(accepted: Accepted, outputs: Collection[str], read: Collection[str]) -> Accepted:
    """The program of a run that narrows relations which are declared `magic`, or named by
    `.pragma "magic-transform"`, to what its outputs need; the program itself if none are."""
    checked = accepted.checked
    marked = _marked(accepted)
    if not marked or not can_narrow(checked.strata, list(outputs), checked.limits):
        return accepted
    accepted = stated(accepted)
    checked = accepted.checked
    facts = {*read, *checked.facts}
    source = AskedProgram(
        checked.relations,
        checked.strata,
        facts.__contains__,
        lambda name: name in marked or name.startswith("%"),
    )
    found = demand(source, sorted(outputs), keep=True)
    if not found.narrowed:
        return accepted
    return _accepted(accepted, checked.relations, found, sorted(outputs))


def _marked(accepted: Accepted) -> set[str]:
    relations = accepted.checked.relations
    marked = {name for name, relation in relations.items() if "magic" in relation.qualifiers}
    excluded = {name for name, relation in relations.items() if "no_magic" in relation.qualifiers}
    for key, value in accepted.typed.pragmas:
        names = {word.strip() for word in value.split(",")}
        named = set(relations) if "*" in names else names & relations.keys()
        if key == "magic-transform":
            marked |= named
        elif key == "magic-transform-exclude":
            excluded |= named
    return marked - excluded

"""The interface between algorithms, sessions and engines.

Algorithms are written once, against `Engine`; sessions are written against `Store`, which is an
engine with transactions. What only some engines can do is an ability of its own.
"""

from tidelog.engine.abilities import (
    Checked,
    Checking,
    FactAges,
    JoinOrders,
    Measure,
    OwnEvaluation,
    PartialCommits,
    Profiles,
    ProofSearch,
    Rounds,
    TemporaryRelations,
    UpdateSets,
)
from tidelog.engine.engine import Counters, Engine, OverlapEngine, ValueIds
from tidelog.engine.evaluators import Evaluators
from tidelog.engine.sets import Combination, Counter, FactSet, Ids, Saved, Sets, Split, Taken, View
from tidelog.engine.store import OverlapStore, RelationDelta, Store

__all__ = [
    "Checked",
    "Checking",
    "Combination",
    "Counter",
    "Counters",
    "Engine",
    "Evaluators",
    "FactAges",
    "FactSet",
    "Ids",
    "JoinOrders",
    "Measure",
    "OverlapEngine",
    "OverlapStore",
    "OwnEvaluation",
    "PartialCommits",
    "Profiles",
    "ProofSearch",
    "RelationDelta",
    "Rounds",
    "Saved",
    "Sets",
    "Split",
    "Store",
    "Taken",
    "TemporaryRelations",
    "UpdateSets",
    "ValueIds",
    "View",
]

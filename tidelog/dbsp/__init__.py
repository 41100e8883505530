"""DBSP: incremental computation on streams of Z-sets, in the words of its paper.

M. Budiu, T. Chajed, F. McSherry, L. Ryzhyk, V. Tannen: DBSP: Automatic Incremental View Maintenance
for Rich Query Languages. PVLDB 16(7), 2023.

| paper | here |
| --- | --- |
| Z[A], Z-sets | `ZSet`, rows of integers as columns; `Symbols` for text; the group `ZSets(width)` |
| distinct, σ, π, ⋈, +, -, group-by | methods of `ZSet`, and of `Flow` with the same arguments |
| π by a scalar function | `map`; `flat_map`, if it gives no row or several for one |
| aggregates | `count`, `sum_of`, `least`, `greatest`, `each_group` |
| abelian group; S_A; S_{S_A} | `Group`; `Stream`, `Streams(group)`; streams of streams |
| ↑f | `lift(f)` |
| z⁻¹ | `delay`; in circuits `Circuit.feedback` |
| I, D | `integrate`, `differentiate` |
| Q^Δ = D ∘ Q ∘ I | `incremental(Q)`; in circuits every operator is its own incremental form |
| fix α. T(α) | `fixpoint(T, group)`; in circuits `Circuit.fixpoint` |
| δ₀, ∫ | `introduce`, `eliminate`; in circuits the ways into and out of a fixpoint |
| a recursive query | `recursive(R, …)`; in circuits `Circuit.fixpoint` |

`streams` is the specification: definitions that run, over whole values. `operators` and `circuit`
are the engine: they take changes and give changes, and remember the past in traces (`trace`) as
columns. The tests in `tests/dbsp` hold the one against the other.
"""

from __future__ import annotations

from tidelog.dbsp import kernel_group as kernel_group
from tidelog.dbsp.aggregates import (
    Aggregate,
    Groups,
    count,
    each_group,
    greatest,
    least,
    sum_of,
)
from tidelog.dbsp.circuit import Circuit, Feedback, Flow
from tidelog.dbsp.streams import (
    Group,
    Integers,
    Stream,
    Streams,
    delay,
    differentiate,
    eliminate,
    fixpoint,
    incremental,
    integrate,
    introduce,
    lift,
    recursive,
)
from tidelog.dbsp.symbols import Symbols
from tidelog.dbsp.zset import ZSet, ZSets

__all__ = [
    "Aggregate",
    "Circuit",
    "Feedback",
    "Flow",
    "Group",
    "Groups",
    "Integers",
    "Stream",
    "Streams",
    "Symbols",
    "ZSet",
    "ZSets",
    "count",
    "delay",
    "differentiate",
    "each_group",
    "eliminate",
    "fixpoint",
    "greatest",
    "incremental",
    "integrate",
    "introduce",
    "least",
    "lift",
    "recursive",
    "sum_of",
]

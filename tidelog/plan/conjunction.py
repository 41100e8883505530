"""Parts of a conjunction after disjunctions and negations of formulas are resolved."""

from __future__ import annotations

from tidelog.program.syntax import Atom, Comparison, Not

Part = Atom | Comparison | Not  # Not of an atom; comparisons are inverted instead
Parts = tuple[Part, ...]

"""What a database remembers between updates, beside its facts.

Which derivation counters are in step with the facts, and what strata have cost. All of it
can be forgotten: counters are then counted again when an algorithm needs them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from tidelog.program.rules import Group, Rule, Stratum

Kept = Literal["nonrecursive", "recursive", "trace"]


@dataclass(frozen=True, slots=True)
class Known:
    """What is worked out once for a stratum."""

    stratum: Stratum
    rules: tuple[Rule, ...]  # one tuple, the same each time: engines know it again
    grouped: frozenset[str]  # relations that aggregates of its rules read


@dataclass(slots=True)
class Memory:
    # Which rules are recursive depends on the stratum: the counters of a relation are in step
    # for the stratum that is noted with it, and all relations of that stratum are noted.
    _kept: dict[Kept, dict[str, tuple[str, ...]]] = field(
        default_factory=lambda: {"nonrecursive": {}, "recursive": {}, "trace": {}}
    )
    _known: dict[int, Known] = field(default_factory=dict)

    def has(self, kept: Kept, stratum: Stratum) -> bool:
        """Are these counters of the stratum's facts in step?"""
        return self._kept[kept].get(stratum.relations[0]) == stratum.relations

    def keep(self, stratum: Stratum, *kept: Kept) -> None:
        """Of the stratum's facts these counters are in step now, and no others."""
        self.forget(stratum.relations)
        for which in kept:
            self._kept[which].update(dict.fromkeys(stratum.relations, stratum.relations))

    def forget(self, relations: Iterable[str] | None = None) -> None:
        """Counters of these relations (of all, if none are given) are out of step."""
        for noted in self._kept.values():
            if relations is None:
                noted.clear()
            elif noted:
                for name in relations:
                    for other in noted.pop(name, ()):
                        noted.pop(other, None)

    def known(self, stratum: Stratum) -> Known:
        known = self._known.get(id(stratum))
        if known is None or known.stratum is not stratum:
            if len(self._known) > 4096:
                self._known.clear()
            rules = stratum.rules
            groups = (part for rule in rules for part in rule.body if isinstance(part, Group))
            known = Known(stratum, rules, frozenset(group.relation for group in groups))
            self._known[id(stratum)] = known
        return known

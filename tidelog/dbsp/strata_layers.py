"""Layers: what negated literals and aggregates read is complete below them.

A relation's layer is at least that of what its rules read, and above that of what they read
negated. Layers only rise: they stay valid when rules are removed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from tidelog.program.rules import Rule


class Layers:
    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._levels: dict[str, int] = {}
        self._readers: dict[str, dict[Rule, None]] = {}
        self.count = 1
        self.add(rules)

    def of(self, relation: str) -> int:
        return self._levels.get(relation, 0)

    def add(self, rules: Iterable[Rule]) -> None:
        """Add rules, and raise the relations that they require higher."""
        rules = list(rules)
        self._levels.update(self.raised(rules))
        self.count = 1 + max(self._levels.values(), default=0)
        for rule in rules:
            for name, _ in rule.reads():
                self._readers.setdefault(name, {})[rule] = None

    def expect(self, rules: Collection[Rule]) -> None:
        """Raise relations as if these rules were added."""
        self._levels.update(self.raised(rules))

    def remove(self, rule: Rule) -> None:
        for name in {name for name, _ in rule.reads()}:
            del self._readers[name][rule]
            if not self._readers[name]:
                del self._readers[name]

    def raised(self, added: Collection[Rule], removed: Collection[Rule] = ()) -> Mapping[str, int]:
        """The relations that these changes of rules would raise, and to which layer."""
        levels: dict[str, int] = {}
        by_reader: dict[str, list[Rule]] = {}
        for rule in added:
            for name, _ in rule.reads():
                by_reader.setdefault(name, []).append(rule)
        todo = list(added)
        # Each new layer above the existing ones needs a relation of its own.
        most = self.count + len(added) + len(self._readers)
        while todo:
            rule = todo.pop()
            head = rule.head.relation
            level = max(
                (levels.get(name, self.of(name)) + complete for name, complete in rule.reads()),
                default=0,
            )
            if level > most:
                raise ValueError("a relation cannot be above itself: the rules are not stratified")
            if level > levels.get(head, self.of(head)):
                levels[head] = level
                todo += (r for r in self._readers.get(head, ()) if r not in removed)
                todo += by_reader.get(head, ())
        return levels

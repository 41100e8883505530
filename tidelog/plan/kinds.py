"""Possible kinds of terms and columns: union-find, for the types pass."""

from __future__ import annotations

from typing import NamedTuple

from tidelog.program.kind_masks import ANY, BITS, spelled, spelled_value
from tidelog.program.syntax import Kind, Span
from tidelog.program.terms import TermKind


class Why(NamedTuple):
    """Why a node is of a kind, and the place in the program."""

    text: str
    at: Span


class Kinds:
    """Nodes are terms and columns; joined nodes have the same kind.

    `terms` are the record and algebraic types of the program.
    """

    def __init__(self, terms: tuple[TermKind, ...] = ()) -> None:
        self.terms = terms
        self.any = ANY | sum(kind.bit for kind in terms)
        self.parent: list[int] = []
        self.masks: list[int] = []  # kinds still open, at the root
        self.whys: dict[int, Why] = {}

    def node(self, mask: int | None = None) -> int:
        self.parent.append(len(self.parent))
        self.masks.append(self.any if mask is None else mask)
        return len(self.masks) - 1

    def chosen(self, mask: int) -> Kind:
        """The kind of a mask; if several are open, number comes first."""
        for kind, bit in BITS.items():
            if mask & bit:
                return kind
        return next(kind for kind in self.terms if mask & kind.bit)

    def is_open(self, mask: int) -> bool:
        """Does the mask say nothing, or only that it is one of several records or branches?"""
        return mask == self.any or (not mask & ANY and mask.bit_count() > 1)

    def spelled(self, mask: int) -> str:
        return spelled(mask, self.terms)

    def spelled_value(self, mask: int) -> str:
        return spelled_value(mask, self.terms)

    def root(self, node: int) -> int:
        parent = self.parent
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    def mask(self, node: int) -> int:
        return self.masks[self.root(node)]

    def why(self, node: int) -> Why | None:
        return self.whys.get(self.root(node))

    def narrow(self, node: int, mask: int, text: str, at: Span) -> bool:
        """Leave only kinds of the mask open; False, and no change, if none would be."""
        root = self.root(node)
        before = self.masks[root]
        left = before & mask
        if left and left != before:
            self.masks[root] = left
            self.whys[root] = Why(text, at)
        return left != 0

    def join(self, one: int, other: int) -> bool:
        """Make two nodes one; False, and no change, if no kind is open to both."""
        one, other = self.root(one), self.root(other)
        left = self.masks[one] & self.masks[other]
        if left and one != other:
            # The reason kept is the one of the node that had fewer kinds open.
            if self.masks[one].bit_count() < self.masks[other].bit_count():
                one, other = other, one
            self.parent[one] = other
            self.masks[other] = left
            if other not in self.whys and one in self.whys:
                self.whys[other] = self.whys[one]
        return left != 0

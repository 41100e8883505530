"""Proofs, as users get them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.explain.derivation import Derivation
from tidelog.explain.views.as_json import as_data, as_json
from tidelog.explain.views.graphviz import as_graphviz
from tidelog.explain.views.indented import as_text
from tidelog.explain.views.page import as_fragment, as_page

__all__ = ["FORMATS", "Proof"]


class Proof(Derivation):
    """Why facts hold, down to the explicit facts; made by `Database.why`.

    >>> from tidelog import Database
    >>> db = Database("path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).",
    ...               facts={"edge": [(1, 2), (2, 3)]}, modules=False)
    >>> print(db.why("path(1, 3)"))
    path(1, 3)
      by path(x, z) :- path(x, y), edge(y, z).  <program>:1  x = 1, z = 3, y = 2
      path(1, 2)
        by path(x, y) :- edge(x, y).  <program>:1  x = 1, y = 2
        edge(1, 2)  explicit
      edge(2, 3)  explicit
    """

    def __str__(self) -> str:
        return as_text(self)

    def to_dict(self) -> dict[str, Any]:
        """The proof as values that JSON has."""
        return as_data(self)

    def to_json(self) -> str:
        return as_json(self)

    def to_dot(self) -> str:
        """A graph for Graphviz."""
        return as_graphviz(self)

    def to_html(self) -> str:
        """One page that needs no other file."""
        return as_page(self)

    def _repr_html_(self) -> str:
        return as_fragment(self)

    def __repr__(self) -> str:
        goals = ", ".join(map(self.text_of, self.goals[:3]))
        return f"<Proof of {goals}{', …' * (len(self.goals) > 3)}: height {self.height}>"


FORMATS: dict[str, Callable[[Proof], str]] = {
    "text": str,
    "json": Proof.to_json,
    "dot": Proof.to_dot,
    "html": Proof.to_html,
}

"""What a database explains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from tidelog.explain.absence import WhyNot
from tidelog.explain.proof import Proof
from tidelog.explain.why import ProofBounds, why
from tidelog.explain.why_changed import Impact, impact
from tidelog.explain.why_not import why_not
from tidelog.program.changes import Change
from tidelog.transaction.core import Core


class Explained(Protocol):
    @property
    def core(self) -> Core: ...


class Explanations:
    """Explanations of facts, found when they are asked for: evaluation notes nothing for them."""

    def why(
        self: Explained,
        question: str,
        *,
        n: int = 1,
        depth: int = ProofBounds.depth,
        nodes: int = ProofBounds.nodes,
        seconds: float = ProofBounds.seconds,
    ) -> Proof:
        """Why a fact holds, or all answers of a query: a proof of as few levels as possible.

        With `n` it has so many alternatives for the fact. `depth` and `nodes` bound what is
        shown, `seconds` the search; the proof says what they leave out.

        >>> from tidelog import Database
        >>> db = Database("big(x) :- size(x, n), n > 10.", facts={"size": [("a", 12)]})
        >>> print(db.why('big("a")'))
        big("a")
          by big(x) :- size(x, n), n > 10.  <program>:1  x = "a", n = 12
          size("a", 12)  explicit
          12 > 10
        """
        return why(self.core, question, n, ProofBounds(depth, nodes, seconds))

    def why_not(
        self: Explained, fact: str, *, repairs: int = 3, seconds: float = ProofBounds.seconds
    ) -> WhyNot:
        """Why a fact does not hold: how far each rule gets, and sets of changes that repair it.

        Repairs are tried in transactions that are rolled back: after each the fact holds, and none
        of its changes can be left out.

        >>> from tidelog import Database
        >>> db = Database("big(x) :- size(x, n), n > 10.", facts={"size": [("a", 2)]})
        >>> print(db.why_not('big("a")'))
        big("a") does not hold
          big(x) :- size(x, n), n > 10.  <program>:1  x = "a", n = 2
            holds: size("a", 2)
            fails: 2 > 10
        """
        return why_not(self.core, fact, repairs, seconds)

    def impact(self: Explained, changes: str | Iterable[Change]) -> Impact:
        """What changes would change, and what each of the first facts changes because of; nothing
        is changed.

        >>> from tidelog import Database
        >>> db = Database("path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).",
        ...               facts={"edge": [(1, 2), (2, 3)]})
        >>> print(db.impact("-edge(2, 3). +edge(2, 4)."))
        edge: 1 fact inserted, 1 deleted
          -edge(2, 3).  because of -edge(2, 3).
          +edge(2, 4).  because of +edge(2, 4).
        path: 2 facts inserted, 2 deleted
          -path(1, 3).  because of -edge(2, 3).
          +path(1, 4).  because of +edge(2, 4).
          -path(2, 3).  because of -edge(2, 3).
          … 1 more
        """
        return impact(self.core, changes)

"""The paper's own figures: Hu, Motik, Horrocks (2019), tables 1 and 2, in seconds."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["materialise", "delete few", "insert few", "delete many", "insert many"]


class Pair(NamedTuple):
    with_modules: float  # Mat-Mod, DRed^c-Mod
    without: float  # Mat, DRed^c

    @property
    def ratio(self) -> float:
        """
        >>> round(Pair(29.60, 3238.86).ratio)
        109
        """
        return self.without / self.with_modules


FIGURES: dict[str, dict[Kind, Pair]] = {
    "Claros-LE": {
        "materialise": Pair(733.55, 3593.32),
        "delete few": Pair(0.93, 1035.28),
        "insert few": Pair(0.17, 0.80),
        "delete many": Pair(314.33, 3616.93),
    },
    "LUBM-LE": {
        "materialise": Pair(291.90, 1100.22),
        "delete few": Pair(0.32, 3.87),
        "insert few": Pair(0.01, 0.01),
        "delete many": Pair(182.93, 1369.77),
    },
    "DBpedia-SKOS": {
        "materialise": Pair(103.23, 3623.37),
        "delete few": Pair(21.77, 691.32),
        "insert few": Pair(0.20, 2.78),
        "delete many": Pair(111.28, 3826.87),
    },
    "DAG-R": {
        "materialise": Pair(29.60, 3238.86),
        "delete few": Pair(64.92, 3005.11),
        "insert few": Pair(14.56, 116.78),
        "delete many": Pair(62.48, 4316.71),
    },
}


def ratio(row: str | None, kind: Kind) -> float | None:
    """How many times as fast modules make this in the paper, if it was measured there."""
    pair = FIGURES[row].get(kind) if row is not None else None
    return None if pair is None else pair.ratio

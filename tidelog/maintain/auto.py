"""Auto: an algorithm for each stratum and update, by what is cheapest there.

If nothing is lost, inserting is all there is to do; otherwise B/F.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.maintain import bf
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    bf.maintain(u, stratum, gone, come)
    u.work.why = "it deletes exactly"

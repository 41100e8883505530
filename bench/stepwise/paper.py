"""Illich and Glimm (2025), Tables 1 to 3: the figures that survive in the copy at hand.

Kept of Table 1 (trans): the reduction of CPU time, and deletions, backward and forward, old and
new, for the eight sizes of updates. Lost: sizes (section 5.2.1 names them), CPU times, insertions
and marks. Kept of Table 2 (seq): nothing but its header, and what the prose says of it. Kept of
Table 3 (ways): CPU times, their reduction, deletions, backward and forward. Lost: insertions and
marks. Figures of DRed are in another paper; this one says that they were "about 25 %" of CPU time.
"""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """Applications are pairs: old, which is classical B/F, and new, which is with marking."""

    reduction: float  # of CPU time, in per cent
    deletions: tuple[int, int]
    backward: tuple[int, int]
    forward: tuple[int, int]
    seconds: tuple[float, float] | None = None


TRANS = {
    10: Printed(7.8, (1603, 447), (11253, 14447), (18777, 19001)),
    20: Printed(7.4, (3046, 594), (10468, 13199), (15373, 15516)),
    30: Printed(7.9, (5146, 1100), (10206, 11856), (11154, 11224)),
    40: Printed(2.9, (4755, 682), (10834, 13036), (12560, 12612)),
    50: Printed(-3.4, (3778, 360), (11514, 14441), (15060, 15096)),
    60: Printed(-6.0, (3227, 213), (11842, 15254), (16518, 16547)),
    70: Printed(-9.1, (2724, 161), (11919, 16054), (17780, 17796)),
    80: Printed(-11.4, (2584, 126), (11863, 16323), (18169, 18183)),
}
WAYS = {
    0: Printed(7.3, (859, 754), (4329, 4400), (3299, 3299), (114.58, 106.22)),
    1: Printed(1.4, (684, 544), (2697, 2733), (2317, 2317), (20.57, 20.29)),
    2: Printed(2.2, (558, 400), (1484, 1479), (1206, 1206), (10.46, 10.24)),
}

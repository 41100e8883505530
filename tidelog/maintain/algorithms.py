"""The maintenance algorithms by name."""

from __future__ import annotations

from tidelog.maintain import bf, bfc, dred, dredc, recompute
from tidelog.maintain.update import Algorithm

ALGORITHMS: dict[str, Algorithm] = {
    "recompute": recompute.maintain,
    "dred": dred.maintain,
    "dredc": dredc.maintain,
    "bf": bf.maintain,
    "bfc": bfc.maintain,
}

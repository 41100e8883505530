"""The maintenance algorithms by name."""

from __future__ import annotations

from tidelog.maintain import aged, auto, bf, bfc, counting, dred, dredc, modular, recompute
from tidelog.maintain.update import Algorithm

ALGORITHMS: dict[str, Algorithm] = {
    "auto": auto.maintain,
    "recompute": recompute.maintain,
    "counting": counting.maintain,
    "dred": dred.maintain,
    "dredc": dredc.maintain,
    "bf": bf.maintain,
    "bfc": bfc.maintain,
    "aged": aged.maintain,
    "dredc-mod": modular.maintain,
    "bfc-mod": modular.maintain_bf,
}

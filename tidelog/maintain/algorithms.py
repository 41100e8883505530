"""The maintenance algorithms by name."""

from __future__ import annotations

from tidelog.maintain import aged, auto, bf, bfc, counting, dred, dredc, modular, recompute
from tidelog.maintain.dbsp import Circuit
from tidelog.maintain.update import Algorithm, WholeAlgorithm

BY_STRATUM: dict[str, Algorithm] = {
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
# The circuit takes all strata at once; without join orders, only to compare.
WHOLE: dict[str, WholeAlgorithm] = {
    "dbsp": Circuit("dbsp"),
    "dbsp-no-index": Circuit("dbsp-no-index", indexed=False),
}
ALGORITHMS: dict[str, Algorithm | WholeAlgorithm] = {**BY_STRATUM, **WHOLE}

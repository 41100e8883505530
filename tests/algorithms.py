"""The algorithms that every test of updates goes through.

The circuit without join orders is left out: it differs from `dbsp` in which rows a join looks at,
and has the tests of the circuit itself (tests/dbsp) and some generated histories.
"""

from __future__ import annotations

from tidelog.maintain.driver.algorithms import ALGORITHMS as EVERY

ALGORITHMS = {name: algorithm for name, algorithm in EVERY.items() if name != "dbsp-no-index"}

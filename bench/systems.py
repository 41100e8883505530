"""Every system that a run can measure, by the name that the tables show."""

from __future__ import annotations

from bench.measure import System
from bench.ours import Ours
from bench.peers import Clingo, DuckDB, Egglog, Nemo


def system_named(name: str) -> System:
    match name:
        case "tidelog":
            return Ours()
        case "tidelog-modules":
            return Ours(modules=True)
        case "duckdb-1":
            return DuckDB(threads=1)
        case "duckdb-2":
            return DuckDB(threads=2)
        case "nemo":
            return Nemo()
        case "clingo":
            return Clingo()
        case "egglog":
            return Egglog()
    raise ValueError(f"unknown system {name}")

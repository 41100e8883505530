"""Files of facts, read whole."""

from __future__ import annotations

from tidelog.formats.byte_source import Bounds, Source
from tidelog.formats.fact_files import read_portions
from tidelog.program.rules import Relation
from tidelog.program.table import Table


def read_facts(
    source: Source,
    relation: Relation,
    *,
    delimiter: str = "\t",
    headers: bool = False,
    bounds: Bounds | None = None,
) -> Table:
    (table,) = read_portions(
        source, relation, delimiter=delimiter, headers=headers, bounds=bounds or Bounds()
    )
    return table

"""A feed: an append-only folder with a file for each version that changes the relation.

Rows have the relation's columns, `op` (`+` or `-`) and `version`. In the change notation,
`tidelog apply` can read a file. The first file inserts all facts of its version.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.formats.atomic_files import sync_folder
from tidelog.pipeline import durable_files
from tidelog.pipeline.batches import RelationVersion, rows_of, with_names
from tidelog.pipeline.table_files import encode, unused
from tidelog.program.changes import Commit, FactChange
from tidelog.program.rules import Relation
from tidelog.text.change_notation import change_text

SinkState = dict[str, Any]  # version and name of the last file


class FeedSink:
    """Adds a file to a folder for each version that changes a relation."""

    def __init__(self, path: Path, format: str) -> None:
        self.path = path
        self.format = format

    def stage(self, version: RelationVersion, before: SinkState | None) -> SinkState:
        """Write the file under a name that readers ignore."""
        delta = version.delta
        if before is None or delta is None:
            delta = version.whole()
        elif not delta.num_rows:
            return before
        self.path.mkdir(parents=True, exist_ok=True)
        name = f"{version.number:08d}.{self.format}"
        hidden = durable_files.temporary(self.path / f"{name}.staged")
        durable_files.write(hidden, self._encoded(version.number, version.relation, delta))
        sync_folder(self.path)
        return {"version": version.number, "file": name}

    def _encoded(self, version: int, relation: Relation, delta: pa.Table) -> bytes:
        if self.format != "changes":
            return encode(feed_table(version, relation, delta), self.format)
        signs = delta.column("sign").to_pylist()
        listed = [
            change_text(FactChange("+" if sign > 0 else "-", relation.name, row))
            for row, sign in zip(rows_of(delta), signs, strict=True)
        ]
        return "".join(f"{line}\n" for line in [*listed, change_text(Commit())]).encode()

    def publish(self, state: SinkState) -> None:
        hidden = durable_files.temporary(self.path / f"{state['file']}.staged")
        if hidden.exists():
            os.rename(hidden, self.path / state["file"])
            sync_folder(self.path)

    def missing(self, state: SinkState) -> bool:
        """Users may delete files, but not the folder."""
        return not self.path.exists()

    def clean(self, state: SinkState, keep: int) -> None:
        """A feed keeps all its files."""

    def tidy(self, state: SinkState | None) -> None:
        if self.path.exists():
            for path in durable_files.leftovers(self.path):
                durable_files.remove(path)


def feed_table(version: int, relation: Relation, delta: pa.Table) -> pa.Table:
    """The changes with their signs as text, and the version."""
    own = with_names(relation, delta)
    signs = pc.if_else(pc.greater(delta.column("sign"), 0), "+", "-")
    numbers = pa.array([version] * delta.num_rows, pa.int64())
    added = [unused(name, relation.attributes) for name in ("op", "version")]
    return pa.table([*own.columns, signs, numbers], names=[*own.column_names, *added])

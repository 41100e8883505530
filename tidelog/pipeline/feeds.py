"""A feed of changes: a file for every version that changes the relation, none ever rewritten.

Rows have the relation's columns, `op` (`+` or `-`) and `version`. In the change notation a file
is what `tidelog apply` reads. The first file has all facts of its version.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.pipeline import files
from tidelog.pipeline.changes import names, rows_of
from tidelog.pipeline.formats import ENDINGS, encode, unlike
from tidelog.program.changes import Commit, FactChange
from tidelog.program.rules import Relation
from tidelog.text.changes import change_text

Held = dict[str, Any]  # the version and the name of the last file


class FeedSink:
    """Adds a file to a folder for every change of a relation."""

    def __init__(self, path: Path, format: str) -> None:
        self.path = path
        self.format = format

    def stage(
        self,
        version: int,
        relation: Relation,
        before: Held | None,
        delta: pa.Table | None,
        whole: Callable[[], pa.Table],
    ) -> Held:
        """Write the file under a name at which no reader looks."""
        if before is None or delta is None:
            delta = whole()
        if before is not None and not delta.num_rows:
            return before
        self.path.mkdir(parents=True, exist_ok=True)
        name = f"{version:08d}.{ENDINGS[self.format]}"
        hidden = files.temporary(self.path / f"{name}.staged")
        files.write(hidden, self._encoded(version, relation, delta))
        files.sync_folder(self.path)
        return {"version": version, "file": name}

    def _encoded(self, version: int, relation: Relation, delta: pa.Table) -> bytes:
        if self.format != "changes":
            return encode(feed_table(version, relation, delta), self.format)
        signs = delta.column("sign").to_pylist()
        listed = [
            change_text(FactChange("+" if sign > 0 else "-", relation.name, row))
            for row, sign in zip(rows_of(delta), signs, strict=True)
        ]
        return "".join(f"{line}\n" for line in [*listed, change_text(Commit())]).encode()

    def publish(self, held: Held) -> None:
        hidden = files.temporary(self.path / f"{held['file']}.staged")
        if hidden.exists():
            os.rename(hidden, self.path / held["file"])
            files.sync_folder(self.path)

    def missing(self, held: Held) -> bool:
        """Files that a reader is done with may go; the folder may not."""
        return not self.path.exists()

    def clean(self, held: Held, keep: int) -> None:
        """A feed keeps all its files."""

    def tidy(self, held: Held | None) -> None:
        if self.path.exists():
            for path in files.leftovers(self.path):
                files.remove(path)


def feed_table(version: int, relation: Relation, delta: pa.Table) -> pa.Table:
    """The changes with their signs as text and the version beside them."""
    own = delta.select(names(relation.arity)).rename_columns(list(relation.attributes))
    further = unlike(relation.attributes, {"op": "op", "version": "version"})
    signs = pc.if_else(pc.greater(delta.column("sign"), 0), "+", "-")
    numbers = pa.array([version] * delta.num_rows, pa.int64())
    columns = [*own.columns, signs, numbers]
    return pa.table(columns, names=[*own.column_names, further["op"], further["version"]])

"""What `tidelog apply` tells of its updates: their deltas and their statistics."""

from __future__ import annotations

import argparse
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tidelog.accept import Accepted
from tidelog.cli.files import Files
from tidelog.cli.terminal import Whole, drop_stdout
from tidelog.io.atomic import Staged, check_target
from tidelog.io.changes import Place, place_of
from tidelog.io.deltas import delta_writer
from tidelog.io.source import FileFault
from tidelog.limits import Interrupts
from tidelog.program.diagnostics import TidelogError
from tidelog.text.rows import known_alike

if TYPE_CHECKING:
    from tidelog.stream.policy import Finished
    from tidelog.stream.processor import Stream


class Reports:
    """Where deltas and statistics go; what cannot be written is refused beforehand.

    It is used in a block that holds Ctrl-C back, so that all places tell of the same updates.
    """

    def __init__(
        self,
        options: argparse.Namespace,
        changes: list[Place],
        accepted: Accepted,
        files: Files,
    ) -> None:
        deltas = [_delta_place(name) for name in options.deltas]
        named = [place.path for place in deltas if not place.live]
        if options.stats is not None:
            named.append(options.stats)
        _refuse_overwriting(named, changes, accepted, files)
        if sum(place.live for place in deltas) > 1:
            raise TidelogError("error: deltas can be printed only once")
        printed = Whole() if any(place.live for place in deltas) else None
        relations = accepted.checked.relations
        for place in deltas:
            if place.relation:
                _require_told(place, accepted, files)
        writers = [(p.live, delta_writer(p, relations.get(p.relation), printed)) for p in deltas]
        self._deltas = [writer for _, writer in writers]
        self._files = [writer for live, writer in writers if not live]
        self._printed = [writer for live, writer in writers if live]
        self.filed = bool(named)  # does a file tell of the updates?
        self.updates = 0  # how many of them are told
        self._stats = options.stats
        self._program = options.program
        self._records: list[dict[str, Any]] = []
        self._group: list[Finished] = []  # that settled together, up to now
        self._saved = False

    def add(self, done: Finished) -> None:
        """Tell of an update, everywhere; if one place cannot hold its delta, nowhere.

        Those that settled together are told together: the delta comes with the last of them.
        Only printing waits for others, so it comes last.
        """
        self._group.append(done)
        if len(self._group) < done.together:
            return
        group, self._group = self._group, []
        told = [list(each.delta) if self._deltas else [] for each in group]
        for writer in self._deltas:
            for changes in told:
                writer.require(changes)
        self.updates += len(group)
        if self._stats is not None:
            self._records += map(_record, group)
        for writer in self._files:
            for changes in told:
                writer.add(changes)
        try:
            for writer in self._printed:
                for changes in told:
                    writer.add(changes)
        except BrokenPipeError:
            self._printed = []
            drop_stdout()
            raise
        except KeyboardInterrupt:
            self._printed = []  # after a text that was cut off
            raise

    def end(self, stream: Stream) -> None:
        """Close the stream, and tell of what has taken effect in it."""
        with suppress(KeyboardInterrupt):
            stream.close()
        for done in stream.close():
            with suppress(KeyboardInterrupt, BrokenPipeError):  # files tell of it all the same
                self.add(done)

    def save(self, stream: Stream) -> None:
        """Write the files, if that is not done; a Ctrl-C waits for it."""
        with Interrupts(whole=True, quiet=True):
            if self._saved:
                return
            self._saved = True
            with Staged() as staged:
                for writer in self._deltas:
                    writer.save(staged)
                if self._stats is not None:
                    staged.write(self._stats, [self._statistics(stream).encode()], compress=False)
                staged.commit()

    def _statistics(self, stream: Stream) -> str:
        """One object, with a line for each update."""
        lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in self._records)
        told = stream.metrics.record()
        head = {"program": self._program, "policy": stream.policy, "stream": told}
        return f'{json.dumps(head)[:-1]}, "commits": [\n{lines}\n]}}\n'


def _record(done: Finished) -> dict[str, Any]:
    """What `--stats` tells of an update."""
    report = done.report
    return {
        "commit": done.number,
        "changes": done.changes,
        "seconds": done.seconds,
        "waited": done.waited,
        "latency": done.latency,
        "first_effect": done.first_effect,
        "together": done.together,
        "instances": report.instances,
        "delta": {
            name: {"added": came, "removed": went}
            for name, (came, went) in done.delta.counts.items()
        },
        "numbers": dict(report.numbers),
        **({"marks": dict(report.marks)} if report.marks else {}),
        **({"spark": report.engine} if report.engine else {}),
        "strata": [
            {
                "relations": work.relations,
                "algorithm": work.algorithm,
                "why": work.why,
                "seconds": work.seconds,
                "instances": work.instances,
                "added": work.added,
                "deleted": work.deleted,
                "numbers": dict(work.numbers),
                **({"place": work.place} if work.place else {}),
            }
            for work in report.works
        ],
    }


def _delta_place(name: str) -> Place:
    try:
        return place_of(name)
    except FileFault:
        return Place(name, "changes", "")


def _require_told(place: Place, accepted: Accepted, files: Files) -> None:
    """Deltas tell of outputs, or of every relation if the program names none."""
    name, known = place.relation, accepted.checked.relations
    if name not in known:
        advice = f"{known_alike(name, known)}\n    a table is given as RELATION=FILE"
        raise TidelogError(
            f"error: unknown relation {name} of the table {place.path}\n    {advice}"
        )
    outputs = {each.relation.name for each in files.outputs if each.form != "size"}
    if outputs and name not in outputs:
        advice = f"add `.output {name}` to the program"
        raise TidelogError(f"error: {name} is no output, so deltas do not tell of it\n    {advice}")


def _refuse_overwriting(
    named: list[str], changes: list[Place], accepted: Accepted, files: Files
) -> None:
    taken = {os.path.realpath(name): "the program" for name in accepted.sources}
    taken |= {os.path.realpath(each.path): "a file of changes" for each in changes}
    taken |= {os.path.realpath(e.path): "an output" for e in files.outputs if e.path is not None}
    taken |= {
        os.path.realpath(e.path): "a file of facts" for e in files.inputs if e.path is not None
    }
    for path in named:
        place = os.path.realpath(path)
        if place in taken:
            advice = "choose another name"
            raise TidelogError(
                f"error: {path} cannot be written, it is {taken[place]}\n    {advice}"
            )
        taken[place] = "written already"
        check_target(path)

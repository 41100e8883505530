"""What `tidelog apply` reports of its updates: deltas and statistics."""

from __future__ import annotations

import argparse
import json
import os
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from tidelog.cli.run_files import Files
from tidelog.cli.standard_streams import WholeOutput, drop_stdout, out
from tidelog.control.limits import Interrupts
from tidelog.formats.atomic_files import Staged, check_target
from tidelog.formats.byte_source import FileFault
from tidelog.formats.change_files import Place, place_of
from tidelog.formats.delta_files import delta_writer
from tidelog.maintain.report import LEGEND, legend
from tidelog.plan.accept import Accepted
from tidelog.program.diagnostics import TidelogError
from tidelog.text.change_notation import change_text
from tidelog.text.fact_rows import known_alike

if TYPE_CHECKING:
    from tidelog.changes.policies.policy import Finished
    from tidelog.changes.stream import Stream

PRINTED = "-"  # in place of a file's name


EXPLAINED = 20  # changes of each update that --explain explains


class Reports:
    """Writes deltas and statistics; refuses targets that are not writable before the run.

    Use it in a block that holds Ctrl-C back, so that all targets report the same updates.
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
        if options.stats not in (None, PRINTED):
            named.append(options.stats)
        _refuse_overwriting(named, changes, accepted, files)
        if sum(place.live for place in deltas) > 1:
            raise TidelogError("error: deltas can be printed only once")
        if options.stats == PRINTED and any(place.live for place in deltas):
            advice = "write one of them to a file"
            raise TidelogError(f"error: deltas and statistics cannot both be printed\n    {advice}")
        printed = WholeOutput() if any(place.live for place in deltas) else None
        relations = accepted.checked.relations
        for place in deltas:
            if place.relation:
                _require_reported(place, accepted, files)
        writers = [(p.live, delta_writer(p, relations.get(p.relation), printed)) for p in deltas]
        self._deltas = [writer for _, writer in writers]
        self._files = [writer for live, writer in writers if not live]
        self._printed = [writer for live, writer in writers if live]
        self.filed = bool(named)  # does a file report the updates?
        self.updates = 0  # how many have been reported
        self._explained = printed if options.explain else None
        self._stats = options.stats
        self._program = options.program
        self._records: list[dict[str, Any]] = []
        self._tables: list[str] = []
        self._counted: set[str] = set()  # numbers that the tables have
        self._group: list[Finished] = []  # that settled together, up to now
        self._saved = False

    def add(self, done: Finished) -> None:
        """Report an update to all targets, or to none if one cannot hold its delta.

        Updates that settled together are reported together: the last of them has the delta.
        Printing comes last, because it may wait for a reader.
        """
        self._group.append(done)
        if len(self._group) < done.together:
            return
        group, self._group = self._group, []
        deltas = [list(each.delta) if self._deltas else [] for each in group]
        for writer in self._deltas:
            for changes in deltas:
                writer.require(changes)
        self.updates += len(group)
        if self._stats == PRINTED:
            self._tables += map(_table, group)
            self._counted.update(*(+done.report.numbers for done in group))
        elif self._stats is not None:
            self._records += map(_record, group)
        for writer in self._files:
            for changes in deltas:
                writer.add(changes)
        try:
            for writer in self._printed:
                for changes in deltas:
                    writer.add(changes)
            if self._explained is not None:
                self._explained.write("".join(map(_causes, group)).encode())
        except BrokenPipeError:
            self._printed = []
            drop_stdout()
            raise
        except KeyboardInterrupt:
            self._printed = []  # after a text that was cut off
            raise

    def end(self, stream: Stream) -> None:
        """Close the stream, and report what has taken effect."""
        with suppress(KeyboardInterrupt):
            stream.close()
        for done in stream.close():
            with suppress(KeyboardInterrupt, BrokenPipeError):  # files still report it
                self.add(done)

    def save(self, stream: Stream) -> None:
        """Write the files, once; Ctrl-C waits for it."""
        with Interrupts(whole=True, quiet=True):
            if self._saved:
                return
            self._saved = True
            with Staged() as staged:
                for writer in self._deltas:
                    writer.save(staged)
                if self._stats not in (None, PRINTED):
                    staged.write(self._stats, [self._statistics(stream).encode()], compress=False)
                staged.commit()
            if self._tables:
                out("\n\n".join([*self._tables, legend(self._counted)]).rstrip())

    def _statistics(self, stream: Stream) -> str:
        """One object, with a line for each update."""
        lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in self._records)
        metrics = stream.metrics.record()
        head = {"program": self._program, "policy": stream.policy, "stream": metrics}
        head["legend"] = LEGEND
        return f'{json.dumps(head)[:-1]}, "commits": [\n{lines}\n]}}\n'


def _table(done: Finished) -> str:
    return f"update {done.number}\n{done.report.table()}"


def _record(done: Finished) -> dict[str, Any]:
    """An update in the file of `--stats`."""
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
            name: {"added": inserted, "removed": deleted}
            for name, (inserted, deleted) in done.delta.counts.items()
        },
        "numbers": dict(report.numbers),
        **({"marks": dict(report.marks)} if report.marks else {}),
        **({"spark": report.engine} if report.engine else {}),
        "strata": [
            {
                "relations": work.relations,
                "algorithm": work.algorithm,
                **({"how": work.how} if work.how else {}),
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


def _causes(done: Finished) -> str:
    """The causes of an update's changes, as comments of the notation."""
    changes = map(change_text, islice(done.delta, EXPLAINED))
    lines = [f"// {change} because of {done.delta.why(change).text}\n" for change in changes]
    more = len(done.delta) - EXPLAINED
    return "".join([*lines, f"// … {more:,} more changes\n" if more > 0 else ""])


def _delta_place(name: str) -> Place:
    try:
        return place_of(name)
    except FileFault:
        return Place(name, "changes", "")


def _require_reported(place: Place, accepted: Accepted, files: Files) -> None:
    """Deltas cover the outputs, or all relations if the program names none."""
    name, known = place.relation, accepted.checked.relations
    if name not in known:
        advice = f"{known_alike(name, known)}\n    write a table as RELATION=FILE"
        raise TidelogError(
            f"error: unknown relation {name} of the table {place.path}\n    {advice}"
        )
    outputs = {each.relation.name for each in files.outputs if each.form != "size"}
    if outputs and name not in outputs:
        advice = f"add `.output {name}` to the program"
        raise TidelogError(
            f"error: {name} is not an output, so deltas do not include it\n    {advice}"
        )


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
                f"error: {path} cannot be written: it is {taken[place]}\n    {advice}"
            )
        taken[place] = "written already"
        check_target(path)

"""The measured process: one system on one set of files; each step is announced and then reported.

    python -m bench.rdf.child SYSTEM ONTOLOGY DATA SMALL [quick]

SMALL is data of the same kind, with which a system is warmed up: kernels and libraries are loaded
before anything is measured.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.measure import resident_bytes
from bench.rdf.systems import Ours, system_named
from tidelog.rdf import GraphDelta, Triple

Say = Callable[..., None]


def main(name: str, ontology: Path, data: Path, small: Path, quick: bool) -> None:
    # Systems may print; their output must not mix with our messages.
    messages = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(**message: object) -> None:
        messages.write(json.dumps(message) + "\n")

    warm = system_named(name)
    warm.load(ontology, small)
    warm.reason()
    if isinstance(warm, Ours):
        for _, triples in warm.changes(quick=True):
            changed(warm, "-", triples)
            changed(warm, "+", triples)
    del warm
    gc.collect()
    before = resident_bytes(os.getpid())
    system = system_named(name)
    with timed(say, "load") as told:
        system.load(ontology, data)
    with timed(say, "reason") as told:
        told["triples"] = system.reason()
        told["bytes"] = resident_bytes(os.getpid()) - before
    if isinstance(system, Ours):
        change_all(system, say, quick)
    say(end=True)


def change_all(system: Ours, say: Say, quick: bool) -> None:
    """Remove and add again; both must change the same triples, or the figures are worthless."""
    for name, triples in list(system.changes(quick)):
        with timed(say, f"remove {name}") as told:
            went = changed(system, "-", triples)
        with timed(say, f"add {name}") as told:
            came = changed(system, "+", triples)
            told["changed"] = len(came)
        if set(went.removed) != set(came.added):
            raise AssertionError(f"{name}: {len(went)} removed, {len(came)} added")


def changed(system: Ours, op: str, triples: list[Triple]) -> GraphDelta:
    """One update, with its delta read."""
    with system.graph.transaction() as tx:
        (tx.add if op == "+" else tx.remove)(*triples)
    len(tx.delta)
    return tx.delta


@contextmanager
def timed(say: Say, step: str) -> Iterator[dict[str, Any]]:
    gc.collect()
    say(begin=step)
    told: dict[str, Any] = {}
    wall, cpu = time.perf_counter(), time.process_time()
    yield told
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    # Others use the machine, too: time that a process waits for its turn is not its own.
    say(done={"step": step, "seconds": min(seconds), "wall": seconds[0], **told})


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:5]), quick=sys.argv[5:] == ["quick"])

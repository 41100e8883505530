"""The measured process: a system makes the changes of a play and reports their cost.

    python -m bench.dbsp.child FILE

It announces each step, so that its parent can end it when one takes too long. Kernels are loaded by
small changes of the same kind before anything is measured.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.dbsp.play import Play, TooMuch, system_of
from bench.measure import peak_bytes, resident_bytes

COMPILING = 600.0  # seconds: the limit for everything that is not measured


def main(path: Path) -> None:
    # Systems may print; their output must not mix with our messages.
    messages = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(**message: object) -> None:
        messages.write(json.dumps(message) + "\n")

    play: Play = pickle.loads(path.read_bytes())
    system_of(play, COMPILING).warm_up(play.warm)
    gc.collect()
    forget_peak()
    say(loaded=resident_bytes(os.getpid()))
    perform(play, say)
    say(end=True)


def perform(play: Play, say: Callable[..., None]) -> None:
    system = system_of(play, play.limit)
    for step in play.steps:
        gc.collect()
        forget_peak()
        say(begin=step.name)
        with system.compiling() as compiled:
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                own = system.make(step.change)
            except TooMuch as error:
                say(stopped=str(error))
                return
            seconds, used = time.perf_counter() - wall, time.process_time() - cpu
        figures = {"seconds": seconds, "cpu": used, "peak": peak_bytes(), "compiled": len(compiled)}
        figures["own"] = own
        say(read=True)
        say(done={"name": step.name, **figures, "state": system.state()})


def forget_peak() -> None:
    """Reset the peak: reading the facts between two steps is not part of it."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:  # not a Linux machine; the peak is then that of the whole process
        return


if __name__ == "__main__":
    main(Path(sys.argv[1]))

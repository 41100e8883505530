"""Runs one system on one workload in a fresh process and measures it from inside.

A system has four steps: `prepare` (not timed: inputs in the system's own form), `load`,
`evaluate`, and `rows` (not timed: the answer, for its checksum). The process announces each step,
so that the limit on time applies to one step and not to the start of an interpreter.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TextIO

from bench.checksum import Checksum, checksum
from bench.data import Rows
from bench.workloads import Workload

Status = Literal["ok", "timeout", "memory", "failed", "absent"]
READING = 600.0  # seconds to deliver the answer for its checksum; not part of any figure
ROOT = Path(__file__).parent.parent


class System(Protocol):
    """A way to evaluate a workload."""

    def prepare(self, workload: Workload, folder: Path) -> None: ...
    def load(self) -> None: ...
    def evaluate(self) -> None: ...
    def rows(self, relation: str, arity: int) -> Rows: ...


@dataclass
class Measurement:
    system: str
    workload: str
    status: Status = "ok"
    load_seconds: float = 0.0
    evaluate_seconds: float = 0.0
    # of the evaluation, all threads; including loading where the two are one
    cpu_seconds: float = 0.0
    peak_bytes: int = 0  # resident memory of the process at the end of the evaluation
    instances: int = 0  # rule instances, where the system counts them
    how: str = ""  # how the system was given the program
    detail: str = ""  # why there is no figure
    outputs: dict[str, Checksum] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The evaluation's time on one core: wall or CPU, whichever is less.

        On a busy machine a process waits for its turn, which is not its fault. Two threads
        count with the CPU time of both.
        """
        if self.system == "duckdb-2":
            return self.cpu_seconds
        return min(self.evaluate_seconds, self.cpu_seconds)

    @property
    def facts(self) -> int:
        return sum(output.size for output in self.outputs.values())


def peak_bytes() -> int:
    """The peak resident memory of this process since it started."""
    try:
        # Not getrusage: there, a child inherits the peak of its parent.
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return 1024 * int(status.split("VmHWM:")[1].split()[0])
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


def resident_bytes(process: int) -> int:
    """The resident memory of a process now; 0 if the machine does not report it."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def cpu_seconds(process: int) -> float:
    """The CPU time of a process's threads so far; wall time if the machine does not report it."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return time.monotonic()


def measure(
    system: str,
    folder: Path,
    *,
    limit: float = 60.0,
    memory: int = 8 << 30,
    answer: bool = True,
) -> Measurement:
    """Evaluates the workload saved in `folder`, and stops it at a limit on time or memory.

    Without `answer` the outputs are not read and have no checksums, which saves much time.
    """
    result = Measurement(system, folder.name)
    command = [sys.executable, "-m", "bench.measure", system, str(folder.resolve())]
    command += ["answer"] if answer else []
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        assert process.stdout is not None
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        reader = threading.Thread(target=forward, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            follow(process, lines, result, limit, memory)
        finally:
            process.kill()
            process.wait()
            reader.join()
            process.stdout.close()
        if result.status == "failed":
            errors.seek(0)
            last = errors.read().strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
            result.status = "absent" if "ModuleNotFoundError" in last[0] else "failed"
            result.detail = last[0][:300]
    return result


def forward(stream: TextIO, lines: queue.SimpleQueue[str]) -> None:
    for line in stream:
        lines.put(line)
    lines.put("")


def follow(
    process: subprocess.Popen[str],
    lines: queue.SimpleQueue[str],
    result: Measurement,
    limit: float,
    memory: int,
) -> None:
    """Read the process's messages until its figures arrive, it ends, or a limit is reached."""
    step, started, cpu = "prepare", time.monotonic(), 0.0
    while True:
        try:
            line = lines.get(timeout=0.05)
        except queue.Empty:
            timed = step in ("load", "evaluate")
            wall = time.monotonic() - started
            used = cpu_seconds(process.pid) - cpu
            # A busy machine may stretch the wall time, but not without end.
            if wall > (limit if timed else READING) and (used > limit or wall > 5 * limit):
                result.status, result.detail = "timeout", step
                result.evaluate_seconds, result.cpu_seconds = wall, used
                return
            if timed and resident_bytes(process.pid) > memory:
                result.status, result.detail = "memory", step
                return
            continue
        if not line:
            result.status = "failed"
            return
        message = json.loads(line)
        if "step" in message:
            step, started = message["step"], time.monotonic()
            cpu = cpu_seconds(process.pid)
        else:
            outputs = {name: Checksum(*sums) for name, sums in message.pop("outputs").items()}
            for name, value in message.items():
                setattr(result, name, value)
            result.outputs = outputs
            return


def child(name: str, folder: Path, answer: bool) -> None:
    """The measured process: the steps of one system, announced on the real standard output."""
    # Some systems print; their output must not mix with our messages.
    messages = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(**message: object) -> None:
        messages.write(json.dumps(message) + "\n")

    from bench.systems import system_named

    workload = Workload.read(folder)
    result = Measurement(name, workload.name)
    with tempfile.TemporaryDirectory() as scratch:
        system = system_named(name)
        system.prepare(workload, Path(scratch))
        say(step="load")
        started = time.perf_counter()
        system.load()
        loaded, cpu = time.perf_counter(), time.process_time()
        say(step="evaluate")
        system.evaluate()
        ended, cpu_ended = time.perf_counter(), time.process_time()
        result.peak_bytes = peak_bytes()
        say(step="rows")
        result.load_seconds = loaded - started
        result.evaluate_seconds = ended - loaded
        result.cpu_seconds = cpu_ended - cpu
        result.how = getattr(system, "how", "")
        result.instances = getattr(system, "instances", 0)
        # A system that loads and evaluates in one call reports its loading time. Its CPU time is
        # left whole, because the share of loading is unknown.
        moved = getattr(system, "loading_within", 0.0)
        result.load_seconds += moved
        result.evaluate_seconds -= moved
        arities = workload.arities()
        result.outputs = {
            relation: checksum(system.rows(relation, arities[relation]))
            for relation in (workload.outputs if answer else ())
        }
    fields = ("load_seconds", "evaluate_seconds", "cpu_seconds", "peak_bytes", "instances", "how")
    everything = asdict(result)
    say(outputs=result.outputs, **{name: everything[name] for name in fields})


if __name__ == "__main__":
    child(sys.argv[1], Path(sys.argv[2]), sys.argv[3:] == ["answer"])

"""The program that the paper's authors measured, on the same streams as `tables`.

    python -m bench.stepwise.authors FOLDER [--sizes N ...]

FOLDER has `bf_no_mark_trans.pl` and `bf_mark_trans.pl` of the authors' public evaluation
(dred-mark-eval, `src/main/prolog/bf`), which is not part of this project; `swipl`, SWI-Prolog,
runs them. A full run takes a quarter of an hour, and writes its part of `docs/figures/streams.md`.

*Inferences* are Prolog's, and do not depend on the machine. The program has no indexes: it looks
through all facts for each that a rule may need, so an application takes it thousands.
"""

from __future__ import annotations

import argparse
import re
import socket
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.report import Target, table, write_part
from bench.stepwise import paper, streams
from bench.stepwise.marking import Update
from bench.stepwise.matching import Fact
from bench.updates.run import machine

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "figures" / "streams.md"
PROGRAMS = {"old": "bf_no_mark_trans.pl", "new": "bf_mark_trans.pl"}
KINDS = {"deletions": "del", "backward": "bwd", "forward": "fwd", "insertions": "ins"}
NODES, SEED = 20, 0


@dataclass(frozen=True)
class Side:
    inferences: int
    seconds: float
    counts: dict[str, int]


@dataclass(frozen=True)
class Row:
    size: int
    old: Side
    new: Side

    def saved(self) -> float:
        """Inferences saved, in per cent."""
        return 100 * (1 - self.new.inferences / self.old.inferences)


def main(arguments: list[str] | None = None) -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="bench.stepwise.authors", description=about)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="with the authors' programs")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(streams.SIZES))
    options = parser.parse_args(arguments)
    rows = []
    for size in options.sizes:
        stream = streams.generated(size, NODES, SEED)
        sides = [played(options.folder, program, stream) for program in PROGRAMS.values()]
        rows.append(Row(size, *sides))
        print(f"{size:3} {rows[-1].saved():5.1f} % fewer inferences", file=sys.stderr, flush=True)
    prolog = subprocess.run(["swipl", "--version"], capture_output=True, text=True, check=True)
    found = text(rows, f"{machine()} {prolog.stdout.strip()}.")
    print(found)
    if tuple(options.sizes) == streams.SIZES:
        write_part(PAGE, found, "bench.stepwise.authors")
    return 0


def played(folder: Path, program: str, stream: Sequence[Update]) -> Side:
    """The program reads updates from a socket, two lines each, and prints its counts."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        goal = f"time(init(localhost:{server.getsockname()[1]}))"
        process = subprocess.Popen(
            ["swipl", "--stack-limit=4g", "-g", goal, "-t", "halt", program],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        with server.accept()[0] as connection:
            threading.Thread(target=send, args=(connection, stream), daemon=True).start()
            while connection.recv(1 << 16):
                pass  # the materialisation after each update
        return side(process.communicate()[0])


def send(connection: socket.socket, stream: Iterable[Update]) -> None:
    for update in (*stream, Update()):
        lines = f"{listed(update.inserted)}\n{listed(update.deleted)}\n"
        connection.sendall(lines.encode())


def listed(facts: Iterable[Fact]) -> str:
    """As a Prolog term.

    >>> listed([Fact("edge", (1, 2)), Fact("edge", (2, 3))])
    '[[edge,1,2],[edge,2,3]]'
    """
    terms = (f"[{fact.relation},{','.join(map(str, fact.values))}]" for fact in facts)
    return f"[{','.join(terms)}]"


def side(printed: str) -> Side:
    """The output of a program.

    >>> side("applied_rules(3,del)\\\\n% 1,200 inferences, 0.25 CPU in 0.30 seconds")
    Side(inferences=1200, seconds=0.25, counts={'del': 3})
    """
    took = re.search(r"([\d,]+) inferences, ([\d.]+) CPU", printed)
    if took is None:
        raise RuntimeError(f"the program did not end well:\n{printed[-2000:]}")
    counted = re.findall(r"(?:applied_rules|marked_facts)\((\d+),(\w+)\)", printed)
    counts = {kind: int(number) for number, kind in counted}
    return Side(int(took[1].replace(",", "")), float(took[2]), counts)


def target(rows: Sequence[Row]) -> Target:
    """The paper's finding about time."""
    what = "the authors' program: marks save inferences with small updates, and less with large"
    middle = len(rows) // 2
    if not middle:
        return Target(what, None, "too few rows")
    halves = rows[:middle], rows[middle:]
    small, large = (statistics.fmean(row.saved() for row in half) for half in halves)
    figure = f"{small:.1f} % with small ones, {large:.1f} % with large ones"
    return Target(what, small > 0 and small > large, figure)


def text(rows: Sequence[Row], where: str) -> str:
    header = ["size", "million inferences old", "new", "reduction %", "of CPU time in the paper"]
    header += [f"{kind} {which}" for kind in KINDS for which in ("old", "new")]
    lines = [
        [
            str(row.size),
            *(f"{side.inferences / 1e6:,.1f}" for side in (row.old, row.new)),
            f"{row.saved():.1f}",
            f"{paper.TRANS[row.size].reduction:.1f}" if row.size in paper.TRANS else "–",
            *(f"{side.counts[of]:,}" for of in KINDS.values() for side in (row.old, row.new)),
        ]
        for row in rows
    ]
    return f"{where}\n\n- {target(rows)}\n\n{table(header, lines)}"


if __name__ == "__main__":
    sys.exit(main())

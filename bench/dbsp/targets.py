"""The project's targets for the circuit, checked against the rows of one run."""

from __future__ import annotations

from collections.abc import Sequence

from bench.dbsp.cases import ADD, DELETE, MATERIALISE, REMOVE, RESTORE
from bench.dbsp.figures import Row
from bench.dbsp.play import PEER
from bench.dbsp.tables import MEBI, relative, time_of
from bench.report import Target
from bench.updates.tables import milliseconds

# pydbsp's indexed circuit for RDFS on LUBM's first university, measured elsewhere on two cores.
REFERENCE = {MATERIALISE: 20.0, DELETE: 2.5, RESTORE: 5.2}  # seconds
REFERENCE_PEAK = 1.7e9  # bytes
REFERENCE_FACTS = 126_760

INDEX = 10  # times as fast as without
SMALL = 0.1  # of the materialisation's time, for one percent
FASTER = {MATERIALISE: 20, DELETE: 100, RESTORE: 100}  # times as fast as the reference
LESS = 5  # times less memory than the reference
LUBM = ("rdfs", "owl")


def agreement(rows: Sequence[Row]) -> Target:
    """Every system has the same facts after every step, without an error."""
    wrong = [f"{row.name}, {name}" for row in rows for name in {*row.differing(), *row.failed()}]
    figure = "; ".join(wrong) or f"{len(rows)} rows"
    return Target("all systems give the same facts", not wrong if rows else None, figure)


def of_index(rows: Sequence[Row], circuit: str, plain: str) -> Target:
    """On all data, in the circuit; a ratio that is only a lower bound leaves the target open if it
    is too small."""
    text = f"the index makes the circuit materialise at least {INDEX} times as fast"
    whole = [row for row in rows if row.percent == 100]
    if not whole:
        return Target(text, None, "no figures")
    verdicts: list[bool | None] = []
    figures = []
    for row in whole:
        found, whole_found = row.faster(circuit, plain, own=True), row.faster(circuit, plain)
        if found is None:
            verdicts.append(False)
            cells = f"{circuit} {time_of(row, circuit)}, {plain} {time_of(row, plain)}"
            figures.append(f"{row.case}: {cells}")
            continue
        ratio, bound = found
        verdicts.append(True if ratio >= INDEX else None if bound else False)
        figure = f"{row.case} {'more than ' * bound}{ratio:.1f} times"
        if whole_found is not None and not bound:
            figure += f" (whole transactions {whole_found[0]:.1f})"
        figures.append(figure)
    return Target(text, all_of(verdicts), "; ".join(figures))


def all_of(verdicts: Sequence[bool | None]) -> bool | None:
    if False in verdicts:
        return False
    return None if None in verdicts else True


def of_updates(rows: Sequence[Row], circuit: str) -> list[Target]:
    text = f"a 1 % update on LUBM takes at most {SMALL:g} of the materialisation's time"
    small = [row for row in rows if row.percent == 99 and row.step in (ADD, REMOVE)]
    lubm = [row for row in small if row.case in LUBM]
    found = [Target(text, None, "no figures")]
    if lubm:
        parts = [(row, relative(rows, row, circuit)) for row in lubm]
        reached = all(part is not None and part <= SMALL for _, part in parts)
        figure = "; ".join(f"{row.case}, {row.step} {told(part)}" for row, part in parts)
        found = [Target(text, reached, figure)]
    if dense := [row for row in small if row.case == "dense"]:
        each = ", ".join(f"{row.step} {told(relative(rows, row, circuit))}" for row in dense)
        line = f"a 1 % update of the dense graph, as a part of the materialisation's time: {each}"
        found.append(Target(f"{line}; the paper's circuit: 1.0", None, ""))
    return found


def told(part: float | None) -> str:
    return "not known" if part is None else f"{part:.3f}"


def of_single(rows: Sequence[Row], circuit: str) -> list[Target]:
    """Compared with the reference, and with the peer in this run if it took part."""
    of = {row.step: row for row in rows}
    return [
        *(beside(of[step], circuit) for step in FASTER if step in of),
        *(peak(of[step], circuit) for step in (MATERIALISE,) if step in of),
        *(here(of[step], circuit) for step in FASTER if step in of and of[step].times(PEER)),
    ]


def beside(row: Row, circuit: str) -> Target:
    theirs, wanted = REFERENCE[row.step], FASTER[row.step]
    text = f"RDFS on LUBM, {row.step}: at least {wanted} times as fast as the reference, {theirs} s"
    mine, worst = row.seconds(circuit), row.worst(circuit)
    if mine is None:
        return Target(text, False, time_of(row, circuit))
    figure = f"{theirs / mine:,.0f} times, {milliseconds(mine)} ms"
    if worst is not None and len(row.times(circuit)) > 1:
        figure += f"; at worst {milliseconds(worst)} ms"
    return Target(text, theirs / mine >= wanted, figure)


def peak(row: Row, circuit: str) -> Target:
    """Judged by the whole process."""
    text = f"RDFS on LUBM: a fifth of the reference's memory, {REFERENCE_PEAK / MEBI:,.0f} MiB"
    mine, loaded = row.peak(circuit), row.loaded(circuit)
    if mine is None or loaded is None:
        return Target(text, False, time_of(row, circuit))
    figure = f"{mine / MEBI:,.0f} MiB, 1 / {REFERENCE_PEAK / mine:.1f} of it; of these, "
    figure += f"{loaded / MEBI:,.0f} MiB before there were any facts"
    return Target(text, mine * LESS <= REFERENCE_PEAK, figure)


def here(row: Row, circuit: str) -> Target:
    """Not a target: the peer in the same run."""
    found = row.faster(circuit, PEER)
    ratio = "no ratio" if found is None else f"{'more than ' * found[1]}{found[0]:,.0f} times"
    text = f"{PEER} in this run, {row.step}: {time_of(row, PEER)} ms, {circuit} "
    text += f"{time_of(row, circuit)} ms, {ratio}"
    if row.step == MATERIALISE and (most := row.peak(PEER)):
        text += f"; {PEER} needs {most / MEBI:,.0f} MiB for it"
    return Target(text, None, "")

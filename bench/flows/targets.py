"""The project's targets for streams, checked against the rows of one run."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from bench.flows import bursts, effects, endless, marks
from bench.flows.tables import MEBI
from bench.report import Target
from bench.updates.tables import milliseconds

CLEARLY = 2  # times less than sequential
GROWING = 2  # times: what does not grow with the large update stays below it
SHARE, ROOM = 0.05, 10 * MEBI  # that memory may grow by, whichever is more


def of_marks(rows: Sequence[marks.Row], choices: Sequence[marks.Choice]) -> list[Target]:
    equal = [row.equal for row in rows] + [row.equal for row in choices]
    return [
        Target(
            "the same facts with marks and without",
            all(equal) if equal else None,
            f"{sum(equal)} of {len(equal)} rows",
        ),
        *(fewer(program, some) for program, some in by_program(rows)),
        prevented([row for row in rows if row.program == "sequence"]),
        *(sooner(program, some) for program, some in by_program(rows) if program != "ways"),
        *told(rows, choices),
    ]


def by_program(rows: Sequence[marks.Row]) -> Iterator[tuple[str, list[marks.Row]]]:
    for program in dict.fromkeys(row.program for row in rows):
        yield program, [row for row in rows if row.program == program]


def fewer(program: str, rows: Sequence[marks.Row]) -> Target:
    shares = [row.fewer() for row in rows]
    figure = f"{min(shares):.0f} to {max(shares):.0f} % fewer in {len(rows)} rows"
    return Target(f"{program}: fewer deletion applications in every row", min(shares) > 0, figure)


def prevented(rows: Sequence[marks.Row]) -> Target:
    """Stream by stream, because averages could agree by chance."""
    text = "sequence: deletion applications saved, implicit marks and prevented ones are equal"
    each = [pair for row in rows for pair in row.each]
    right = sum(
        old["deletions"] - new["deletions"] == new.get("implicit", 0) == new.get("prevented", 0)
        for old, new in each
    )
    return Target(text, right == len(each) if each else None, f"{right} of {len(each)} streams")


def sooner(program: str, rows: Sequence[marks.Row]) -> Target:
    """The mean reduction over the smaller half of the updates, and over the larger."""
    text = f"{program}: marks save CPU time in the engine, and most with small updates"
    labels = sorted({row.label for row in rows})
    middle = labels[len(labels) // 2]
    halves = [
        [row.reduction() for row in rows if (row.label < middle) == is_small]
        for is_small in (True, False)
    ]
    if not all(halves):
        return Target(text, None, "too few rows")
    small, large = map(statistics.fmean, halves)
    figure = f"{small:.0f} % saved with small ones, {large:.0f} % with large ones"
    return Target(text, small > 0 and small > large, figure)


def told(rows: Sequence[marks.Row], choices: Sequence[marks.Choice]) -> Iterator[Target]:
    """Not targets, but what a reader would ask."""
    if rows:
        ratios = [(row.new.seconds / row.sequential, row.name) for row in rows]
        least, most = min(ratios), max(ratios)
        text = (
            f"what marking costs in the engine: {least[0]:.2f} times the CPU time of sequential "
            f"({least[1]}) to {most[0]:.2f} times ({most[1]})"
        )
        yield Target(text, None, "")
    if choices:
        ratios = [(row.seconds / row.sequential, f"{row.program} {row.label}") for row in choices]
        middle, (most_, where) = statistics.median(r for r, _ in ratios), max(ratios)
        off = sum(row.why.startswith("no marks") for row in choices)
        text = (
            f"auto with the policy marking: no marks at last in {off} of {len(choices)} rows; "
            f"{middle:.2f} times the CPU time of sequential in the median, at most {most_:.2f} "
            f"times ({where}), trials included"
        )
        yield Target(text, None, "")


def of_bursts(rows: Sequence[bursts.Row]) -> list[Target]:
    found = [
        Target(
            "the same facts after every burst, fully dynamic and sequential",
            all(row.equal for row in rows) if rows else None,
            f"{sum(row.equal for row in rows)} of {len(rows)} rows",
        )
    ]
    text = f"updates half of which undo another take sequential at least {CLEARLY} times as long"
    for arriving in (bursts.AT_ONCE, bursts.STEADILY):
        some = [(row.factor(), row.name) for row in rows if row.arriving == arriving]
        autos = [pair for pair in some if ", auto," in pair[1]]
        what = f"{text}: auto, {arriving}"
        if not autos:
            found.append(Target(what, None, "no figures"))
            continue
        least, all_least = min(autos), min(some)
        figure = f"at least {least[0]:.2f} times: {least[1]}; over all algorithms "
        figure += f"at least {all_least[0]:.2f} times: {all_least[1]}"
        found.append(Target(what, least[0] >= CLEARLY, figure))
    stays = [(row.factor(), row.name) for row in rows if row.arriving == bursts.STAYING]
    if autos := [pair for pair in stays if ", auto," in pair[1]]:
        (low, where), (high, other) = min(autos), max(autos)
        text = (
            "for comparison, where nothing is undone, auto, sequential takes "
            f"{low:.2f} ({where.split(',')[0]}) to {high:.2f} times ({other.split(',')[0]}) as long"
        )
        found.append(Target(text, None, ""))
    return found


def of_effects(rows: Sequence[effects.Row]) -> list[Target]:
    text = "the time to an update's first effect does not grow with the update in flight"
    grown = {}
    for policy in effects.POLICIES:
        some = sorted((row for row in rows if row.policy == policy), key=lambda row: row.size)
        if len(some) < 2 or not all(row.effects for row in some):
            return [Target(text, None, "no figures")]
        first, last = some[0], some[-1]
        ratios = [last.percentile(percent) / first.percentile(percent) for percent in (50, 95)]
        figure = f"{policy}: "
        figure += ", ".join(
            f"{name} {milliseconds(first.percentile(percent))} ms beside {first.size:,} facts and "
            f"{milliseconds(last.percentile(percent))} ms beside {last.size:,}, {ratio:.2f} times"
            for name, percent, ratio in zip(("median", "p95"), (50, 95), ratios, strict=True)
        )
        grown[policy] = max(ratios), figure
    dynamic, plain = grown["fully-dynamic"], grown["sequential"]
    what = f"{text} (at most {GROWING} times)"
    return [Target(what, dynamic[0] <= GROWING, f"{dynamic[1]}; {plain[1]}")]


def of_long_streams(rows: Sequence[endless.Row]) -> list[Target]:
    text = "memory does not grow with the updates (at most 5 % or 10 MiB)"
    if not rows:
        return [Target(text, None, "no figures")]
    figures = [
        f"{row.policy} {row.growth() / MEBI:.1f} MiB ({100 * row.growth() / row.early:.1f} %)"
        for row in rows
    ]
    right = all(row.growth() <= max(SHARE * row.early, ROOM) for row in rows)
    rates = ", ".join(f"{row.policy} {row.per_second:,.0f}" for row in rows)
    return [
        Target(
            "the facts are those of the beginning when all is undone",
            all(row.equal for row in rows),
            f"{sum(row.equal for row in rows)} of {len(rows)} policies",
        ),
        Target(text, right, ", ".join(figures)),
        Target(f"updates a second through one stream: {rates}", None, ""),
    ]

"""The project's targets for streams, checked against the rows of one run."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from bench.flows import bursts, effects, endless, marks
from bench.flows.tables import MEBI
from bench.report import Target
from bench.updates.tables import milliseconds

HARMLESS = 1.3  # times sequential
CLEARLY = 2  # times less than sequential
GROWING = 2  # times: what does not grow with the large update stays below it
SHARE, ROOM = 0.05, 10 * MEBI  # that memory may grow by, whichever is more


def of_marks(rows: Sequence[marks.Row]) -> list[Target]:
    named = [row for row in rows if row.algorithm != "auto"]
    return [
        Target(
            "the same facts with marks and without",
            all(row.equal for row in rows) if rows else None,
            f"{sum(row.equal for row in rows)} of {len(rows)} rows",
        ),
        *(fewer(program, some) for program, some in by_program(named)),
        *(sooner(program, some) for program, some in by_program(named)),
        harmless([row for row in rows if row.algorithm == "auto"]),
    ]


def by_program(rows: Sequence[marks.Row]) -> Iterator[tuple[str, list[marks.Row]]]:
    for program in dict.fromkeys(row.program for row in rows):
        yield program, [row for row in rows if row.program == program]


def fewer(program: str, rows: Sequence[marks.Row]) -> Target:
    shares = [row.fewer() for row in rows]
    figure = f"{min(shares):.0f} to {max(shares):.0f} % fewer in {len(rows)} rows"
    return Target(f"{program}: fewer rule instances with marks", min(shares) > 0, figure)


def sooner(program: str, rows: Sequence[marks.Row]) -> Target:
    ratios = [row.ratio for row in rows]
    figure = f"{min(ratios):.2f} to {max(ratios):.2f} times that of sequential"
    return Target(f"{program}: less CPU time with marks", max(ratios) < 1, figure)


def harmless(rows: Sequence[marks.Row]) -> Target:
    text = f"auto: marking takes at most {HARMLESS} times the CPU time of sequential"
    if not rows:
        return Target(text, None, "no figures")
    ratios = [(row.ratio, f"{row.program} {row.label}") for row in rows]
    middle, (most, where) = statistics.median(ratio for ratio, _ in ratios), max(ratios)
    return Target(text, most <= HARMLESS, f"{middle:.2f} in the median, {most:.2f} ({where})")


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

"""What the papers prove of the instances that an algorithm considers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.maintain import closures
from tests.maintain.histories import History
from tests.maintain.reference import Instance
from tests.modules.examples import Each
from tidelog.maintain import bf, closure_seeds
from tidelog.maintain.memory import Memory
from tidelog.modules import STANDARD, Module
from tidelog.program.rules import Group, Literal, Rule

STAGES = {
    "dred": [("DR2",), ("DR4", "DR5")],
    "dredc": [("DR2",), ("DR5",)],
    # Theorem 1 of Motik et al. (2015).
    "bf": [("del prop", "saturate"), ("DR5",)],
    "bfc": [("del prop", "saturate"), ("DR5",)],
}


def as_written(rule: Rule) -> Rule:
    """Without the literals that leave out groups."""
    parts = (p for p in rule.body if not (isinstance(p, Literal) and "%touched" in p.relation))
    return replace(rule, body=tuple(parts))


def is_plain(instance: Instance) -> bool:
    """An aggregate over a group that changes may keep its value: such an instance is lost and
    found again."""
    return not any(isinstance(part, Group) for part in instance.rule.body)


def is_of_the_program(instance: Instance) -> bool:
    return not instance.head[0].startswith("%touched")


@pytest.mark.sampled(15)
@pytest.mark.parametrize("algorithm", STAGES)
@pytest.mark.parametrize("seed", range(3000, 3030))
def test_no_instance_twice(seed: int, algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(seed, "python")
    monkeypatch.setattr(bf, "FIRST", history.random.choice((1, 3, 64)))
    for _ in range(6):
        history.step(algorithm, phases=["one"])
        for stages in STAGES[algorithm]:
            considered = Counter(
                replace(instance, rule=as_written(instance.rule))
                for instance in history.world.logged(*stages)
                if is_of_the_program(instance) and (is_plain(instance) or "dred" in algorithm)
            )
            assert [i for i, n in considered.items() if n > 1] == [], f"{stages}\n{history.program}"


# By Mat-Mod alone (Theorem 4 of Hu et al. 2019), and by the algorithms that use modules.
MODULAR_STAGES = {
    "recompute": [("apply",)],
    "dredc-mod": [("counts",), ("DR2",), ("DR4", "DR5"), ("apply", "closure")],
    "bfc-mod": [("counts",), ("del prop", "saturate"), ("DR5",), ("apply", "closure")],
}


@pytest.mark.sampled(15)
@pytest.mark.parametrize("algorithm", MODULAR_STAGES)
@pytest.mark.parametrize("kinds", [STANDARD, (Each,)], ids=["closures", "each rule"])
@pytest.mark.parametrize("seed", range(40))
def test_no_instance_twice_by_modules(
    seed: int, kinds: tuple[type[Module], ...], algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several closures feed one another through other rules, or every rule is a module."""
    monkeypatch.setattr(Memory, "had_modules", lambda *_: True)
    monkeypatch.setattr(closure_seeds, "FEW", 0)
    history = closures.History(closures.mixed(seed), seed, "python", modules=kinds)
    for _ in range(6):
        history.step(algorithm, phases="one")
        for stages in MODULAR_STAGES[algorithm]:
            considered = Counter(history.world.logged(*stages))
            assert [i for i, n in considered.items() if n > 1] == [], f"{stages}\n{history.text}"

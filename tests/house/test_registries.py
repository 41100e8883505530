"""Help and documents list exactly what the registries hold."""

from __future__ import annotations

import re

import pytest

from tests.house.test_documents import described, told
from tidelog.changes import NAMES as POLICIES
from tidelog.cli.arguments import STRATEGIES
from tidelog.formats.change_files import CHANGE_FORMATS, FORMATS
from tidelog.formats.fact_formats import ALWAYS, IO, PARAMETERS
from tidelog.maintain.driver.algorithms import ALGORITHMS
from tidelog.session import ENGINES
from tidelog.session.backends import BACKENDS
from tidelog.spark.placement import STRATEGIES as PLACED


def _listed(text: str) -> list[str]:
    return re.findall(r"[a-z][a-z-]*", re.sub(r"\bor\b|\(.*?\)", "", text))


def _row(command: str, option: str) -> list[str]:
    """The names in the table of a command's options, up to what is said of them."""
    text = described(command)
    (row,) = re.findall(rf"^\| `--{option} .*?: (.*?)(?:;|\.| \|)", text, flags=re.MULTILINE)
    return re.findall(r"`([a-z-]+)`", row)


@pytest.mark.parametrize("command", ["apply", "repl"])
def test_algorithms(command: str) -> None:
    (shown,) = re.findall(r"are maintained: (.*?); auto unless", told(command), flags=re.DOTALL)
    assert _listed(re.sub(r"-\s+", "-", shown)) == list(ALGORITHMS)


def test_policies() -> None:
    assert _row("apply", "policy") == list(POLICIES)


def test_formats_of_changes() -> None:
    assert _row("apply", "format") == list(FORMATS)


def test_engines() -> None:
    assert tuple(BACKENDS) == ENGINES


def test_strategies() -> None:
    assert STRATEGIES == PLACED
    assert _row("apply", "strategy") == list(PLACED)


def test_every_parameter_of_a_directive_is_taken_by_a_format() -> None:
    assert PARAMETERS.keys() == {*ALWAYS, *(key for io in IO.values() for key in io.takes)}


def test_every_format_of_changes_is_registered() -> None:
    assert tuple(CHANGE_FORMATS) == FORMATS

"""Tables of the documents are those of the registries."""

from __future__ import annotations

import pytest

from tests.house.test_documents import GENERATOR, PAGES, read

TABLED = [page for page in PAGES if GENERATOR.tables.PLACE.search(read(page))]


@pytest.mark.parametrize("page", TABLED)
def test_tables_are_current(page: str) -> None:
    """If this fails, run `python docs/generate.py`."""
    assert GENERATOR.tables.filled(read(page)) == read(page)


def test_every_table_is_shown() -> None:
    shown = {place[2] for page in TABLED for place in GENERATOR.tables.PLACE.finditer(read(page))}
    assert shown == GENERATOR.tables.TABLES.keys()

"""Readable, unique relation names for classes and properties."""

from __future__ import annotations

import hashlib
import re

_LAST = re.compile(r"([^/#:<>]*)>?$")
_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")


class Names:
    """A stable mapping between terms of one kind and relation names.

    A name is the last part of the IRI and a digest of the whole IRI, so that it does not depend on
    other terms.

    >>> names = Names("class")
    >>> names.of("<http://example.org/Student>")
    'class_Student_ddc350'
    """

    def __init__(self, kind: str, fixed: dict[str, str] | None = None) -> None:
        self._kind = kind
        self.relations: dict[str, str] = dict(fixed or {})
        self.terms = {name: term for term, name in self.relations.items()}

    def of(self, term: str) -> str:
        name = self.relations.get(term)
        if name is None:
            name = self._free(term)
            self.relations[term] = name
            self.terms[name] = term
        return name

    def _free(self, term: str) -> str:
        last = _LAST.search(term)
        word = _UNSAFE.sub("_", last[1] if last else "").strip("_")[:40]
        digest = hashlib.sha256(term.encode("utf-8", "surrogatepass")).hexdigest()
        for length in range(6, len(digest)):
            name = "_".join(part for part in (self._kind, word, digest[:length]) if part)
            if name not in self.terms:
                return name
        raise AssertionError("two terms with the same digest")

"""DYRE: Datalog interpretation as a circuit of DBSP operators. Figures 2 and 3 of its paper.

de Lima, Kramer, Apinis and Micinski: Incremental Evaluation of Dynamic Datalog Programs as a
Higher-order DBSP Program (2024), section 4. Rules and facts are Z-sets that change; the circuit is
one, whatever the program, and consists of the operators of this package: it is incremental because
they are. This is the specification of `interpreter`, which does the same in kernels.

# ρ a rule   α an atom   g a fact   Σ a rewrite   N an expected provenance

    gatekeep   ⟨N, Σ⟩ ⋈ directions ⟨N, N', α⟩     Σ goes on to the next atoms   ⟨key, α, Σ, N'⟩
    product    ⟨key, α, Σ, N'⟩ ⋈ facts ⟨key, g⟩   if α with Σ unifies with g    ⟨N', Σ ⊕ Σ'⟩
    ground     ⟨N, Σ⟩ ⋈ signals ⟨N, head⟩         Σ applied to the head         g
    index      g ⋈ join orders ⟨predicate, C⟩     g by its columns C            ⟨key, g⟩

A key has the constants of α with Σ, or of g, by which the two are to meet. In Figure 2 it is the
predicate alone. Rows of Z-sets are integers here, so that each element has a number, which is never
given back. For positive programs without arithmetic; a rule without a body is a fact.

>>> from tidelog.program.syntax import Variable
>>> x, y, z = map(Variable, "xyz")
>>> edge, rest = Literal("edge", (x, y)), Literal("path", (y, z))
>>> base = Rule(Literal("path", (x, y)), (edge,))
>>> further = Rule(Literal("path", (x, z)), (edge, rest))
>>> dyre = Dyre()
>>> len(dyre.step({("edge", (1, 2)): 1, ("edge", (2, 3)): 1}, {base: 1, further: 1}))
5
>>> dyre.step({}, {further: -1})
{('path', (1, 3)): -1}
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tidelog.dbsp.circuit import Circuit, Flow
from tidelog.dbsp.definitions import NOTHING, Fact, Rewrite, bound, extended, grounded
from tidelog.dbsp.grounding import ordered
from tidelog.dbsp.operators import Distinct, Join
from tidelog.dbsp.zset import ZSet
from tidelog.program.rules import Literal, Rule
from tidelog.program.syntax import Variable, Wildcard

Provenance = tuple[Literal, ...]  # a sum of atoms: see `provenance`
Element = tuple[Hashable, ...]
Scalar = Callable[..., Iterable[Element]]  # a scalar function: elements, none or several


class Elements:
    """Elements of Z-sets by number: equal ones have the same."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._elements: list[Any] = []

    def number(self, element: Hashable) -> int:
        found = self._numbers.setdefault(element, len(self._elements))
        if found == len(self._elements):
            self._elements.append(element)
        return found

    def __len__(self) -> int:
        return len(self._elements)

    def __getitem__(self, number: int) -> Any:
        return self._elements[number]

    def lifted(self, function: Scalar) -> Callable[..., list[list[int]]]:
        """The function of elements, as one of their numbers."""

        def of_numbers(*row: int) -> list[list[int]]:
            elements = [self._elements[number] for number in row]
            given = dict(zip(map(id, elements), row, strict=True))  # these need not be hashed
            return [
                [given[id(e)] if id(e) in given else self.number(e) for e in made]
                for made in function(*elements)
            ]

        return of_numbers

    def zset(self, weights: Mapping[Any, int]) -> ZSet:
        return ZSet.of({(self.number(e),): w for e, w in weights.items()}, width=1)


# Rules as data: the extended grounding kit (Definitions 4.2 to 4.7).


def atoms(rule: Rule) -> list[Literal]:
    """The body, in the order that Definition 4.6 assumes. Wildcards become variables."""
    found = []
    for j, atom in enumerate(ordered(rule)):
        assert isinstance(atom, Literal)
        terms = (
            Variable(f"_{j}.{c}") if isinstance(term, Wildcard) else term
            for c, term in enumerate(atom.terms)
        )
        found.append(replace(atom, terms=tuple(terms)))
    return found


def provenance(some: Iterable[Literal]) -> Provenance:
    """μ: the sum of ℋ of atoms (Definition 4.2). It is a formal sum, so that those of different
    atoms differ; sums of hashes may be the same."""
    return tuple(sorted(some, key=repr))


def directions(rule: Rule) -> Iterator[Element]:
    """dir: ⟨N, N', α⟩, from each atom to the next one."""
    body = atoms(rule)
    for j, atom in enumerate(body):
        yield provenance(body[:j]), provenance(body[: j + 1]), atom


def signals(rule: Rule) -> Iterator[Element]:
    """sig: ⟨N, head⟩, what becomes of rewrites that have passed the last atom."""
    yield provenance(atoms(rule)), rule.head


def join_orders(rule: Rule) -> Iterator[Element]:
    """jorder: ⟨predicate, C⟩, the columns of each atom that are known when it is reached."""
    known: dict[str, None] = {}
    for atom in atoms(rule):
        yield atom.relation, tuple(bound(atom, known))
        known |= {term.name: None for term in atom.terms if isinstance(term, Variable)}


class Dyre:
    """The circuit of Figure 3, or of Figure 2 if it is not `indexed`."""

    def __init__(
        self, *, indexed: bool = True, each_round: Callable[[], None] = lambda: None
    ) -> None:
        self.elements = Elements()
        self._circuit = circuit = Circuit(each_round=each_round)
        self._is_new = True
        # Operators remember the integrals of their inputs.
        self.gatekeep, self.product = Join(2, 3, [(0, 0)]), Join(4, 2, [(0, 0)])
        self.ground, self.index = Join(2, 2, [(0, 0)]), Join(2, 2, [(0, 0)])
        self.rewrites, self.facts = Distinct(2), Distinct(1)
        ΔΣ, ΔE, ΔΠ = circuit.input("Σ", 2), circuit.input("E", 1), circuit.input("Π", 1)
        Z_dir, Z_sig = self._map(ΔΠ, directions, 3), self._map(ΔΠ, signals, 2)
        Z_order = self._map(ΔΠ, join_orders, 2)

        def body(Z_Σ: Flow, Z_F: Flow) -> tuple[Flow, Flow]:
            """A round; Z_Σ and Z_F are z⁻¹ of its results."""
            gated = self._op(
                self.gatekeep, Z_Σ, Z_dir, by_constants if indexed else by_predicate, 4
            )
            keyed = self._map(Z_F, of_predicate, 2)
            if indexed:
                keyed = self._op(self.index, keyed, Z_order, by_columns, 2)
            found = self._op(self.product, gated, keyed, unified, 2)
            derived = self._op(self.ground, found, Z_sig, applied, 1)
            return (
                circuit.connect(self.rewrites, found + ΔΣ),
                circuit.connect(self.facts, derived + ΔE),
            )

        _, F = circuit.fixpoint([2, 1], body)
        circuit.output("F", F)

    def _map(self, flow: Flow, function: Scalar, width: int) -> Flow:
        return flow.flat_map(self.elements.lifted(function), width)

    def _op(self, join: Join, left: Flow, right: Flow, ψ: Scalar, width: int) -> Flow:
        """↑↑π_ψ((↑(↑⋈_φ)^Δ)^Δ(left, right)), the form of all operators of the paper; φ says that
        the first columns are equal."""
        return self._map(self._circuit.connect(join, left, right), ψ, width)

    def step(self, facts: Mapping[Fact, int], rules: Mapping[Rule, int]) -> dict[Fact, int]:
        """Changes of explicit facts and of rules, to those of all facts."""
        for rule, weight in rules.items():
            if not rule.body:
                g = grounded(rule.head, NOTHING)
                facts = {**facts, g: facts.get(g, 0) + weight}
        number = self.elements.number
        changes = {"E": self.elements.zset(facts)}
        changes["Π"] = self.elements.zset({rule: w for rule, w in rules.items() if rule.body})
        if self._is_new:
            changes["Σ"] = ZSet.of([(number(provenance(())), number(NOTHING))])
            self._is_new = False
        found = self._circuit.step(**changes)["F"]
        return {self.elements[number]: weight for (number,), weight in found}

    def memory(self) -> int:
        """Bytes of what the operators remember, without the elements themselves."""
        return self._circuit.memory()


# ψ of the operators, with the columns of the left and then of the right.


def by_constants(
    _: Provenance, Σ: Rewrite, __: Provenance, N: Provenance, α: Literal
) -> Iterator[Element]:
    """What gatekeep pushes on, with the constants of α, when Σ is applied to it, by columns."""
    yield (α.relation, tuple(bound(α, dict(Σ)).items())), α, Σ, N


def by_predicate(
    _: Provenance, Σ: Rewrite, __: Provenance, N: Provenance, α: Literal
) -> Iterator[Element]:
    """The same without an index: all facts of the predicate are tried."""
    yield α.relation, α, Σ, N


def of_predicate(g: Fact) -> Iterator[Element]:
    yield g[0], g


def by_columns(_: str, g: Fact, relation: str, C: tuple[int, ...]) -> Iterator[Element]:
    """A fact with those of its constants that a join order names."""
    yield (relation, tuple((c, g[1][c]) for c in C)), g


def unified(
    _: Hashable, α: Literal, Σ: Rewrite, N: Provenance, __: Hashable, g: Fact
) -> Iterator[Element]:
    """Up to one new rewrite."""
    found = extended(Σ, α, g)
    if found is not None:
        yield N, found


def applied(_: Provenance, Σ: Rewrite, __: Provenance, head: Literal) -> Iterator[Element]:
    yield (grounded(head, Σ),)

"""An incremental RDFS reasoner over triples: six rules, most of them joins with the schema.

The schema consists of ordinary triples, so a change of the schema is a change of data.
"""

from tidelog.dbsp import Circuit, Flow, Symbols, ZSet


def reasoner(names: Symbols) -> Circuit:
    TYPE, DOMAIN, RANGE, SUBCLASS, SUBPROPERTY = map(
        names.number, ("a", "domain", "range", "subClassOf", "subPropertyOf")
    )

    def with_property(triples: Flow, number: int) -> Flow:
        return triples.select(lambda s, p, o: p == number).project((0, 2))

    def rules(triple: Flow) -> Flow:
        kind, domain = with_property(triple, TYPE), with_property(triple, DOMAIN)
        subclass, range_ = with_property(triple, SUBCLASS), with_property(triple, RANGE)
        subproperty = with_property(triple, SUBPROPERTY)
        of_class = (
            triple.join(domain, [(1, 0)], (0, 4))  # rdfs2
            + triple.join(range_, [(1, 0)], (2, 4))  # rdfs3
            + kind.join(subclass, [(1, 0)], (0, 3))  # rdfs9
        )
        larger_properties = subproperty.join(subproperty, [(1, 0)], (0, 3))  # rdfs5
        larger_classes = subclass.join(subclass, [(1, 0)], (0, 3))  # rdfs11
        return (
            explicit
            + of_class.map(lambda s, c: (s, TYPE, c))
            + larger_properties.map(lambda p, q: (p, SUBPROPERTY, q))
            + larger_classes.map(lambda c, d: (c, SUBCLASS, d))
            + triple.join(subproperty, [(1, 0)], (0, 4, 2))  # rdfs7
        ).distinct()

    circuit = Circuit()
    explicit = circuit.input("triple", 3)
    circuit.output("triple", circuit.fixpoint(3, rules))
    return circuit


def main() -> None:
    names = Symbols()
    circuit = reasoner(names)

    def show(title: str, change: ZSet) -> None:
        print(title)
        for triple, weight in names.rows(circuit.step(triple=change)["triple"]).items():
            print(f"  {weight:+d}", *triple)

    def triples(*lines: str, weight: int = 1) -> ZSet:
        return names.zset({tuple(line.split()): weight for line in lines})

    show(
        "A schema and one fact",
        triples(
            "teaches subPropertyOf knows",
            "teaches domain Teacher",
            "knows range Person",
            "Teacher subClassOf Person",
            "Socrates teaches Plato",
        ),
    )
    show("A superclass", triples("Person subClassOf Mortal"))
    show("The fact is deleted", triples("Socrates teaches Plato", weight=-1))


if __name__ == "__main__":
    main()

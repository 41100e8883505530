"""An incremental join of two tables: who works on which floor.

The cost of a change depends on the rows that it joins with, not on the size of the tables. For
changes a and b of the two tables:
(a ⋈ b)^Δ = a ⋈ b + z⁻¹(I(a)) ⋈ b + a ⋈ z⁻¹(I(b)).
"""

from tidelog.dbsp import Circuit, Symbols, ZSet

names = Symbols()
circuit = Circuit()
works = circuit.input("works", 2)  # person, team
floor = circuit.input("floor", 2)  # team, floor
circuit.output("sits", works.join(floor, on=[(1, 0)], columns=(0, 3)))


def show(title: str, **changes: ZSet) -> None:
    print(title)
    for row, weight in names.rows(circuit.step(**changes)["sits"]).items():
        print(f"  {weight:+d} {row[0]} on floor {row[1]}")


show(
    "The first rows",
    works=names.zset([("Ada", "engines"), ("Grace", "compilers"), ("Alan", "engines")]),
    floor=names.zset([("engines", 2), ("compilers", 3)]),
)
show("Grace changes team", works=names.zset({("Grace", "compilers"): -1, ("Grace", "engines"): 1}))
show("A team moves", floor=names.zset({("engines", 2): -1, ("engines", 4): 1}))

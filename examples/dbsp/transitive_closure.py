"""An incremental transitive closure, with a cycle that is disconnected and connected again."""

from tidelog.dbsp import Circuit, ZSet

circuit = Circuit()
edge = circuit.input("edge", 2)
path = circuit.fixpoint(
    2, lambda path: (edge + path.join(edge, on=[(1, 0)], columns=(0, 3))).distinct()
)
circuit.output("path", path)

for title, change in (
    ("1 leads to the cycle 2, 3, 4", ZSet.of([(1, 2), (2, 3), (3, 4), (4, 2)])),
    ("the edge to the cycle is deleted", ZSet.of({(1, 2): -1})),
    ("the cycle is broken, and has a new entry", ZSet.of({(4, 2): -1, (1, 3): 1})),
):
    print(f"{title}:", *(f"{weight:+d}{row}" for row, weight in circuit.step(edge=change)["path"]))

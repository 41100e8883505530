"""Incremental aggregates by group: orders per customer.

A sum or count keeps one or two numbers per group, a maximum keeps the group's values.
"""

from tidelog.dbsp import Circuit, Symbols, ZSet, count, greatest, sum_of

names = Symbols()
circuit = Circuit()
order = circuit.input("order", 3)  # number, customer, amount
circuit.output("orders", order.group_by((1,), count()))
circuit.output("total", order.group_by((1,), sum_of(2)))
circuit.output("largest", order.group_by((1,), greatest(2)))


def show(title: str, change: ZSet) -> None:
    print(title)
    for name, delta in circuit.step(order=change).items():
        parts = (f"{w:+d} {who}: {value}" for (who, value), w in names.rows(delta).items())
        print(f"  {name:8}", "; ".join(parts) or "unchanged")


show("New orders", names.zset([(1, "Ada", 30), (2, "Ada", 50), (3, "Alan", 20)]))
show("One more order", names.zset([(4, "Alan", 5)]))
show(
    "One order cancelled, one corrected",
    names.zset({(2, "Ada", 50): -1, (3, "Alan", 20): -1, (3, "Alan", 25): 1}),
)

"""Circuits: incremental operators that are connected, with fixpoints under a clock of their own.

An incremental transitive closure:

>>> from tidelog.dbsp import Circuit, ZSet
>>> circuit = Circuit()
>>> edge = circuit.input("edge", 2)
>>> path = circuit.fixpoint(2, lambda path: (edge + path.join(edge, [(1, 0)], (0, 3))).distinct())
>>> circuit.output("path", path)
>>> circuit.step(edge=ZSet.of([(1, 2), (2, 3)]))["path"]
ZSet.of({(1, 2): 1, (1, 3): 1, (2, 3): 1})
>>> circuit.step(edge=ZSet.of({(2, 3): -1, (2, 4): 1}))["path"]
ZSet.of({(1, 3): -1, (1, 4): 1, (2, 3): -1, (2, 4): 1})
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

from tidelog.dbsp import operators
from tidelog.dbsp.aggregates import Aggregate
from tidelog.dbsp.clock import Clock, OperatorNode, Wire, delayed, eliminated, same
from tidelog.dbsp.delays import Future
from tidelog.dbsp.operators import Operator, Plus
from tidelog.dbsp.row_columns import Expansion, Function, Predicate
from tidelog.dbsp.zset import ZSet

ROUNDS = 1_000_000  # of a fixpoint in one step, after which it is given up


class Flow:
    """A stream of Z-sets in a circuit, or within a fixpoint a stream of streams of them.

    Operations are those of `ZSet`, and connect an incremental operator. What flows outside of a
    fixpoint may be used inside: it is there from the first round on (δ₀, and I within).
    """

    def __init__(self, circuit: Circuit, clock: Clock, node: OperatorNode) -> None:
        self.circuit, self.clock, self.node = circuit, clock, node

    @property
    def width(self) -> int:
        return self.node.operator.width

    def __add__(self, other: Flow) -> Flow:
        if self.width != other.width:
            raise ValueError(f"rows of {self.width} and of {other.width} columns have no sum")
        return self._into(Plus(self.width), other)

    def __neg__(self) -> Flow:
        return self._into(operators.Negate(self.width))

    def __sub__(self, other: Flow) -> Flow:
        return self + -other

    def select(self, predicate: Predicate) -> Flow:
        return self._into(operators.Select(self.width, predicate))

    def map(self, function: Function) -> Flow:
        return self._into(operators.MapRows(self.width, function))

    def flat_map(self, function: Expansion, width: int) -> Flow:
        return self._into(operators.FlatMap(function, width))

    def project(self, columns: Iterable[int]) -> Flow:
        return self._into(operators.Project(self.width, tuple(columns)))

    def join(
        self, other: Flow, on: Sequence[tuple[int, int]], columns: Sequence[int] | None = None
    ) -> Flow:
        return self._into(operators.Join(self.width, other.width, on, columns), other)

    def distinct(self) -> Flow:
        return self._into(operators.Distinct(self.width))

    def group_by(self, keys: Iterable[int], aggregate: Aggregate) -> Flow:
        return self._into(operators.GroupBy(self.width, tuple(keys), aggregate))

    def _into(self, operator: Operator, *others: Flow) -> Flow:
        return self.circuit.connect(operator, self, *others)


class Feedback(Flow):
    """z⁻¹ of a flow that is yet to be connected."""

    is_connected = False

    def connect(self, flow: Flow) -> None:
        self.circuit.clock_of(self, flow)
        if self.is_connected or flow.width != self.width:
            raise ValueError("a feedback is connected once, to a flow of its width")
        flow.node.wires.append(Wire(self.node.inputs[0], delayed))
        self.is_connected = True


class Circuit:
    """Inputs, what is computed of them, and outputs. It is built first, and then takes steps."""

    def __init__(
        self, *, rounds: int = ROUNDS, each_round: Callable[[], None] = lambda: None
    ) -> None:
        """A fixpoint that takes more than `rounds` rounds in one step is given up. Each of them
        begins with a call of `each_round`, which may raise."""
        self.rounds, self.each_round = rounds, each_round
        self._clock = Clock()
        self._inputs: dict[str, Flow] = {}
        self._outputs: dict[str, Future] = {}
        self._inner: Clock | None = None  # of the fixpoint that is being built
        self._loops: list[Feedback] = []  # in it
        self._steps = 0
        self._is_broken = False

    def input(self, name: str, width: int) -> Flow:
        if name in self._inputs:
            raise ValueError(f"the input {name} already exists")
        if not isinstance(width, int) or width < 0:
            raise ValueError(f"expected a number of columns, got {width!r}")
        self._inputs[name] = self._source(width, self._clock)
        return self._inputs[name]

    def output(self, name: str, flow: Flow) -> None:
        if name in self._outputs:
            raise ValueError(f"the output {name} already exists")
        self._check_whole(building=True)
        if self.clock_of(flow) is not self._clock:
            raise ValueError("an output is outside of fixpoints: use what they return")
        self._outputs[name] = Future(flow.width)
        flow.node.wires.append(Wire(self._outputs[name], same))

    @overload
    def fixpoint(self, widths: int, body: Callable[[Flow], Flow]) -> Flow: ...
    @overload
    def fixpoint(
        self, widths: Sequence[int], body: Callable[..., Sequence[Flow]]
    ) -> tuple[Flow, ...]: ...
    def fixpoint(
        self, widths: int | Sequence[int], body: Callable[..., Any]
    ) -> Flow | tuple[Flow, ...]:
        """∫(fix α. (↑T)^Δ(z⁻¹(α))): `body` applied to its own result until nothing changes.

        `body` is called once, with z⁻¹ of its result, which has `widths` columns. For relations
        that depend on each other it takes several flows, and gives as many.
        """
        self._check_whole(building=True)
        if self._inner is not None:
            raise ValueError("a fixpoint within a fixpoint would need a third clock")
        clock = self._inner = Clock(self.rounds, self.each_round)
        self._is_broken = True  # unless what follows succeeds
        loops = [self.feedback(w) for w in ([widths] if isinstance(widths, int) else widths)]
        given = body(*loops)
        flows = [given] if isinstance(widths, int) else list(given)
        if len(flows) != len(loops):
            raise ValueError(f"the body takes {len(loops)} flows, and gives {len(flows)}")
        for loop, flow in zip(loops, flows, strict=True):
            loop.connect(flow)
        if not all(loop.is_connected for loop in self._loops):
            raise ValueError("there is a feedback that was never connected")
        self._clock.parts.append(clock)
        self._inner, self._loops, self._is_broken = None, [], False
        found = tuple(self._source(flow.width, self._clock) for flow in flows)
        for flow, outside in zip(flows, found, strict=True):
            how = same if flow.clock is self._clock else eliminated
            flow.node.wires.append(Wire(outside.node.inputs[0], how))
        return found[0] if isinstance(widths, int) else found

    def feedback(self, width: int) -> Feedback:
        """z⁻¹, within the fixpoint that is being built, of a flow that `connect` will tell."""
        if self._inner is None:
            raise ValueError("a feedback is part of a fixpoint's body")
        loop = Feedback(self, self._inner, self._node(Plus(width), self._inner, [width]))
        self._loops.append(loop)
        return loop

    def step(self, /, **changes: ZSet) -> dict[str, ZSet]:
        """One tick of the outer clock: the changes of inputs, by name, to those of outputs."""
        self._check_whole()
        for name, change in changes.items():
            if name not in self._inputs:
                raise ValueError(f"unknown input {name}; known: {', '.join(self._inputs)}")
            if not isinstance(change, ZSet):
                raise TypeError(f"the change of {name} is not a Z-set: see ZSet.of")
            width = self._inputs[name].width
            if change.width != width:
                raise ValueError(f"{name} has {width} columns, and its change {change.width}")
        self._steps += 1
        self._is_broken = True  # unless what follows succeeds
        for name, change in changes.items():
            self._inputs[name].node.inputs[0].put(change.batch())
        self._clock.run()
        found = {name: ZSet.from_batch(into.take(0)) for name, into in self._outputs.items()}
        self._is_broken = False
        return found

    def memory(self) -> int:
        """Bytes of what operators remember."""
        return self._clock.memory()

    def connect(self, operator: Operator, *flows: Flow) -> Flow:
        """The result of an operator on flows: within the fixpoint if one of them is."""
        clock = self.clock_of(*flows)
        node = self._node(operator, clock, [flow.width for flow in flows])
        for flow, into in zip(flows, node.inputs, strict=True):
            flow.node.wires.append(Wire(into, same))
        return Flow(self, clock, node)

    def clock_of(self, *flows: Flow) -> Clock:
        """The innermost of the clocks of flows, which must be of this circuit."""
        for flow in flows:
            if flow.circuit is not self:
                raise ValueError("a flow of another circuit")
            if flow.clock not in (self._clock, self._inner):
                raise ValueError("a flow of a fixpoint that is closed: use what it returned")
        return next((f.clock for f in flows if f.clock is not self._clock), self._clock)

    def _source(self, width: int, clock: Clock) -> Flow:
        return Flow(self, clock, self._node(Plus(width), clock, [width]))

    def _node(self, operator: Operator, clock: Clock, widths: Sequence[int]) -> OperatorNode:
        self._check_whole(building=True)
        node = OperatorNode(operator, widths)
        clock.parts.append(node)
        return node

    def _check_whole(self, *, building: bool = False) -> None:
        if building and self._steps:
            raise ValueError("a circuit is built before its first step")
        if self._is_broken and not (building and self._inner):
            raise ValueError("something failed here before: build the circuit anew")

"""The interpreter's circuit, held against a naive fixpoint, and against itself in other ways."""

from __future__ import annotations

import pytest

from tests.dbsp.positive import DECLARED, RULES, Story
from tests.dbsp.words import Plain, batches, contents, facts_of, rules_of, step
from tidelog.dbsp.definitions import WEIGHTED, Weighted, interpreted
from tidelog.dbsp.grounding import FIXED, FOUND, HELD, Product, grounding_kit
from tidelog.dbsp.interpreter import Interpreter
from tidelog.dbsp.streams import Stream
from tidelog.program.diagnostics import LimitError

# With the index or without, and with the paper's rounds or ours.
WAYS = [(True, 0), (False, 0), (True, 1), (False, 1)]
ways = pytest.mark.parametrize(("indexed", "pause"), WAYS)


@pytest.mark.sampled(12)
@ways
@pytest.mark.parametrize("seed", range(12))
def test_figures_2_and_3_are_figure_1(seed: int, indexed: bool, pause: int) -> None:
    story, circuit = Story(seed), Interpreter(Plain(), indexed=indexed, pause=pause)
    moves = [story.next() for _ in range(12)]
    rules = [Weighted(dict.fromkeys(come, 1) | dict.fromkeys(gone, -1)) for _, come, gone in moves]
    facts = [Weighted(change) for change, _, _ in moves]
    figure = interpreted(Stream.of(WEIGHTED, rules), Stream.of(WEIGHTED, facts))
    total = WEIGHTED.zero
    for t, move in enumerate(moves):
        assert step(circuit, *move) == figure[t]
        total = WEIGHTED.add(total, figure[t])
        assert contents(circuit) == total == total.distinct()


@pytest.mark.parametrize("seed", range(8))
def test_a_batch_is_its_changes_one_at_a_time(seed: int) -> None:
    """Recursive retractions included; and the traces are the same, not only the facts."""
    story = Story(seed)
    at_once, one_by_one = Interpreter(Plain()), Interpreter(Plain())
    for _ in range(8):
        change, come, gone = story.next()
        step(at_once, change, come, gone)
        moves = [({fact: w}, (), ()) for fact, w in change.items()]
        moves += [({}, (rule,), ()) for rule in come]
        moves += [({}, (), (rule,)) for rule in gone]
        story.random.shuffle(moves)
        for move in moves:
            step(one_by_one, *move)  # type: ignore[arg-type]
        assert state(at_once) == state(one_by_one)


def state(circuit: Interpreter) -> dict[str, object]:
    """Everything that the circuit remembers, rounds included."""
    found: dict[str, object] = {}
    for name, table in circuit.tables.items():
        for what, trace in (("facts", table.facts), ("inputs", table.inputs)):
            if len(trace):
                found[f"{what} {name}"] = sorted(map(tuple, trace.batch().tolist()))
    nodes = list(circuit._roots.values())
    while nodes:
        node = nodes.pop()
        nodes += node.children.values()
        if node.trace is not None and node.parent is not None:
            path, at = [], node
            while at.parent is not None:
                path.append(at.stage)
                at = at.parent
            found[repr(path)] = sorted(map(tuple, node.trace.batch().tolist()))
    return found


def test_facts_and_rules_of_a_step_change_together() -> None:
    """Example 4.2: a rule goes in the step in which a fact comes."""
    base, left = rules_of(
        DECLARED + "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).",
    )
    circuit = Interpreter(Plain())
    assert step(circuit, {("e", (1, 2)): 1}, [base]) == {("e", (1, 2)): 1, ("p", (1, 2)): 1}
    assert step(circuit, {("e", (2, 3)): 1}, [left]) == {
        ("e", (2, 3)): 1,
        ("p", (2, 3)): 1,
        ("p", (1, 3)): 1,
    }
    assert step(circuit, {("e", (3, 4)): 1}, gone=[base]) == {
        ("e", (3, 4)): 1,
        ("p", (1, 2)): -1,
        ("p", (2, 3)): -1,
        ("p", (1, 3)): -1,
    }


def test_the_grounding_kit() -> None:
    """Example 4.4, but that a path has a number and not a sum of hashes: both rules begin with the
    same stage, and the second goes on from it."""
    first, second = rules_of(
        DECLARED + "p(x, y) :- e(x, y). p(x, z) :- e(x, y), p(y, z).",
    )
    one, two = (
        grounding_kit(rule, lambda constant: int(constant.value)) for rule in (first, second)
    )
    edge = Product("e", ((FOUND, 0), (FOUND, 1)))
    assert [stage.step for stage in one.directions] == [edge]
    assert [stage.step for stage in two.directions] == [
        edge,
        Product("p", ((HELD, 1), (FOUND, 0))),
    ]
    assert one.directions[0] == two.directions[0]
    assert one.signal.words == ((HELD, 0), (HELD, 1))
    assert two.directions[1].result == ((HELD, 0), (FOUND, 0))
    circuit = Interpreter(Plain())
    step(circuit, {}, [first, second])
    (path,) = circuit._roots[0].children.values()
    assert list(path.rules) == [first, second]


def test_join_orders() -> None:
    """Example 4.7: nothing is known of the first atom's facts, the zeroth term of the second's."""
    (rule,) = rules_of(DECLARED + "q(x, z) :- e(x, y), f(y, z).")
    assert list(grounding_kit(rule, lambda c: int(c.value)).orders) == [("e", ()), ("f", (0,))]
    (rule,) = rules_of(DECLARED + "q(x, 1) :- e(x, y), f(2, y), e(y, y).")
    made = grounding_kit(rule, lambda c: int(c.value))
    assert list(made.orders) == [("f", (0,)), ("e", (0, 1)), ("e", (1,))]
    assert made.signal.words == ((HELD, 0), (FIXED, 1))


def test_a_rule_that_shares_a_path_does_not_touch_it() -> None:
    one, two = rules_of(DECLARED + "q(x, z) :- e(x, y), f(y, z). p(x, z) :- e(x, y), f(y, z).")
    circuit = Interpreter(Plain())
    facts = {("e", (i, i)): 1 for i in range(50)} | {("f", (i, i)): 1 for i in range(50)}
    step(circuit, facts, [one])
    before = circuit.rewrites()
    changes = step(circuit, {}, [two])
    assert changes == {("p", (i, i)): 1 for i in range(50)}
    assert circuit.rewrites() == before
    assert set(step(circuit, {}, gone=[one]).values()) == {-1}
    assert circuit.rewrites() == before


@pytest.mark.parametrize("seed", range(6))
def test_undoing_a_step(seed: int) -> None:
    story, circuit = Story(seed), Interpreter(Plain())
    change, _, _ = story.next()
    step(circuit, change, RULES)
    for _ in range(6):
        before = state(circuit)
        change, _, _ = story.next()
        circuit.step(batches(change))
        assert circuit.undo()
        assert state(circuit) == before
        step(circuit, change)


def test_undoing_a_step_that_was_stopped() -> None:
    host = Plain()
    circuit = Interpreter(host)
    ring = {("e", (i, (i + 1) % 9)): 1 for i in range(9)}
    step(circuit, ring, RULES[:2])
    before = state(circuit)
    stopped = 0
    for ticks in range(1, 60, 4):
        host.stop_after = host.ticks + ticks
        try:
            circuit.step(batches({("e", (3, 4)): -1, ("e", (20, 3)): 1}))
        except TimeoutError:
            stopped += 1
        assert circuit.undo()
        assert state(circuit) == before
    host.stop_after = None
    assert stopped > 3
    changes = step(circuit, {("e", (3, 4)): -1})
    assert changes[("p", (3, 3))] == -1


def test_undoing_rules_is_refused() -> None:
    circuit = Interpreter(Plain())
    circuit.step({}, RULES[:1])
    assert not circuit.undo()


def test_state_that_is_no_longer_needed_is_given_back() -> None:
    circuit = Interpreter(Plain())
    step(circuit, {}, RULES[:2])
    empty = circuit.memory()
    chain = {("e", (i, i + 1)): 1 for i in range(120)}
    step(circuit, chain)
    full = circuit.memory()
    assert circuit.facts() == 120 + 120 * 121 // 2
    assert full > 20 * empty
    step(circuit, dict.fromkeys(chain, -1))
    assert circuit.facts() == circuit.rewrites() - 1 == 0
    assert circuit.memory() == measured(circuit)
    assert circuit.memory() < full / 3
    step(circuit, {}, gone=RULES[:2])
    assert circuit.rewrites() == 1  # the empty one
    assert circuit._roots[0].children == {}


def measured(circuit: Interpreter) -> int:
    """Bytes of all traces, each asked."""
    traces = [t for table in circuit.tables.values() for t in (table.facts, table.inputs)]
    nodes = list(circuit._roots.values())
    while nodes:
        node = nodes.pop()
        nodes += node.children.values()
        if node.trace is not None:
            traces.append(node.trace)
    return sum(trace.memory() for trace in traces)


def test_what_is_held_is_known_without_looking() -> None:
    story, circuit = Story(3), Interpreter(Plain())
    for _ in range(20):
        step(circuit, *story.next())
        assert circuit.memory() == measured(circuit)


def test_updates_follow_the_change() -> None:
    """What one edge of many short chains changes does not depend on their number."""
    pairs = []
    for chains in (10, 100):
        circuit = Interpreter(Plain())
        edges = {("e", (20 * c + i, 20 * c + i + 1)): 1 for c in range(chains) for i in range(10)}
        step(circuit, edges, RULES[:2])
        before = circuit.pairs
        assert len(step(circuit, {("e", (4, 5)): -1})) == 1 + 5 * 6
        pairs.append(circuit.pairs - before)
    assert pairs[0] == pairs[1]


def test_changes_are_told_layer_by_layer() -> None:
    rules = rules_of(
        DECLARED + "p(x, y) :- e(x, y). q(x, y) :- f(x, y), !p(x, y). u(x) :- e(x, _), !q(x, x)."
    )
    host = Plain()
    circuit = Interpreter(host)
    step(circuit, {("e", (1, 1)): 1, ("f", (1, 1)): 1, ("f", (2, 2)): 1}, rules)
    told = [facts_of(changes) for changes in host.told]
    assert ("p", (1, 1)) in told[0]
    assert told[1] == {("q", (2, 2)): 1}
    assert told[2] == {("u", (1,)): 1}
    host.told.clear()
    assert step(circuit, {("e", (1, 1)): -1}) == {
        ("e", (1, 1)): -1,
        ("p", (1, 1)): -1,
        ("q", (1, 1)): 1,
        ("u", (1,)): -1,
    }


def test_rules_that_lift_relations_do_not_fit() -> None:
    rules = rules_of(DECLARED + "p(x, y) :- e(x, y). q(x, y) :- f(x, y), !p(x, y).")
    (more,) = rules_of(DECLARED + "p(x, y) :- e(x, y), !u(x).")
    circuit = Interpreter(Plain())
    assert circuit.fits(rules)
    step(circuit, {}, rules)
    assert circuit.fits(rules_of(DECLARED + "u(x) :- e(x, _)."))
    assert not circuit.fits([more])
    assert circuit.fits(rules_of(DECLARED + "q(x, y) :- e(x, y), !u(x)."))


def test_too_many_derivations_to_count() -> None:
    """Six times 4,000 facts with nothing in common: 2^71 derivations of one fact."""
    text = ".decl a(x: number) .decl n() n() :- " + ", ".join(["a(_)"] * 6) + "."
    (rule,) = rules_of(text)
    circuit = Interpreter(Plain())
    step(circuit, {}, [rule])
    few = {("a", (i,)): 1 for i in range(400)}
    assert step(circuit, few)[("n", ())] == 1
    before = state(circuit)
    with pytest.raises(LimitError, match="too many derivations"):
        circuit.step(batches({("a", (i,)): 1 for i in range(400, 4000)}))
    assert circuit.undo()
    assert state(circuit) == before
    assert step(circuit, dict.fromkeys(few, -1))[("n", ())] == -1


def test_sums_over_many_updates_are_exact_or_refused() -> None:
    """Each update adds 2^56 derivations of one fact."""
    body = ", ".join(f"a(x{i})" for i in range(8))
    (rule,) = rules_of(f".decl a(x: number) .decl f(x: number) .decl n() n() :- {body}, f(y).")
    circuit = Interpreter(Plain())
    step(circuit, {("a", (i,)): 1 for i in range(128)}, [rule])
    for i in range(63):
        changes = step(circuit, {("f", (i,)): 1})
        assert (("n", ()) in changes) == (i == 0)
    before = state(circuit)
    with pytest.raises(LimitError, match="too many derivations"):
        circuit.step(batches({("f", (63,)): 1}))
    assert circuit.undo()
    assert state(circuit) == before
    for i in range(63):
        changes = step(circuit, {("f", (i,)): -1})
        assert (("n", ()) in changes) == (i == 62)


def test_tables_go_with_the_rules_that_had_them() -> None:
    circuit = Interpreter(Plain())
    for i in range(5):
        (rule,) = rules_of(DECLARED + f".decl t{i}(x: number) t{i}(x) :- e(x, _).")
        step(circuit, {}, [rule])
        step(circuit, {}, gone=[rule])
    assert circuit.tables.keys() <= {"e"}
    assert circuit.memory() == measured(circuit)

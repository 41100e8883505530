"""`Stream`: updates arrive, a policy applies them, and each is returned once it has taken effect,
in order and exactly once.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NoReturn, Self

from tidelog.changes.arrivals import Arrivals
from tidelog.changes.metrics import Metrics
from tidelog.changes.policies.policy import (
    POLICIES,
    Arrived,
    Finished,
    Policy,
    Sequential,
    check_policy,
)
from tidelog.control.limits import Interrupts, waiting
from tidelog.formats.change_files import Format
from tidelog.program.diagnostics import TidelogError
from tidelog.transaction.core import Core, Options
from tidelog.transaction.transaction import check_algorithm

QUIET = 0.2  # seconds without an update until `on_idle` is called
PATIENCE = 64  # portions of a long update that are read before other work continues


class Stream:
    """The updates of a source, as they take effect; made by `Database.stream`.

    Iterating it does the work. If an update fails, those before it are kept and returned, and then
    its error is raised; no later update is applied.

    >>> from tidelog import Database
    >>> db = Database("path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).",
    ...               facts={"edge": [(1, 2)]})
    >>> for done in db.stream("+edge(2, 3). commit. -edge(1, 2). commit."):
    ...     print(done.number, done.delta.counts)
    1 {'edge': (1, 0), 'path': (2, 0)}
    2 {'edge': (0, 1), 'path': (0, 2)}
    """

    def __init__(
        self,
        core: Core,
        source: Any,
        policy: str,
        options: Options,
        format: Format | None = None,
    ) -> None:
        self.closed = True  # until the constructor has succeeded
        self._left: list[Finished] = []
        check_policy(policy)
        check_algorithm(options.algorithm)
        self._plain = partial(Sequential, core, lambda: None, options)
        if policy != "sequential" and (options.strict or options.dry_run):
            what = "strict mode" if options.strict else "a dry run"
            raise TidelogError(f"error: {what} requires the policy sequential, not {policy}")
        self.policy = policy
        self.on_idle: Callable[[], object] | None = None  # called when none arrives for a while
        self.metrics = Metrics()
        self.arrivals = (
            source if isinstance(source, Arrivals) else Arrivals(source, core.state, format=format)
        )
        self.arrivals.limit(options.limits)
        self._state = core.state
        self._todo: deque[Arrived] = deque()  # updates that were read, for the policy
        self._under_way: deque[Arrived] = deque()
        self._ready: deque[Finished] = deque()
        self._fault: BaseException | None = None
        self._portions = 0  # read of a long update since other work was done
        self._interrupted = False
        self._draining = False
        me = weakref.ref(self)  # an unreferenced stream is closed

        def look() -> Arrived | None:
            stream = me()
            return None if stream is None else stream._look()

        self._policy: Policy = POLICIES[policy](core, look, options)
        self.closed = False

    # Results.

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Finished:
        patience = None if self.on_idle is None else QUIET
        while not self._ready:
            try:
                idle = self._turns()
            except KeyboardInterrupt:
                if not self._ready:
                    raise
                self._interrupted = True  # return what has taken effect first
                break
            if self.closed and not self._ready:
                self._end()
            if idle:
                if patience is None and self.on_idle is not None:
                    self.on_idle()
                with waiting():
                    self.arrivals.wait(patience)
                patience = None
        # Python handles signals at calls: after `popleft`, the result could be lost.
        done = self._ready[0]
        del self._ready[0]
        return done

    def _end(self) -> NoReturn:
        if self._fault is None:
            raise StopIteration
        fault, self._fault = self._fault, None
        raise fault

    def run(self, on_finished: Callable[[Finished], object] | None = None) -> Metrics:
        """Apply all updates, to the end of the source."""
        for done in self:
            if on_finished is not None:
                on_finished(done)
        return self.metrics

    @property
    def queue(self) -> int:
        """About how many updates have arrived and not taken effect."""
        return len(self._under_way) + len(self._todo) + self.arrivals.waiting

    @property
    def finished(self) -> int:
        """How many updates have taken effect: a whole prefix of the stream."""
        return self.metrics.updates

    @property
    def under_way(self) -> tuple[int, ...]:
        """The numbers of updates that have begun and not taken full effect."""
        with self._state.lock:
            return tuple(update.number for update in self._under_way)

    # The work, under the lock of the database.

    def _turns(self) -> bool:
        """Take turns until an update is ready or the stream ends; True if an arrival must be
        waited for. Ctrl-C between two turns also undoes unfinished updates."""
        with Interrupts(whole=True) as interrupts:
            try:
                if self._interrupted:
                    self._interrupted = False
                    raise KeyboardInterrupt
                while not (self._ready or self.closed):
                    with self._state.changing():
                        if not self._ready and self._advance():
                            return True
            except KeyboardInterrupt:
                if self._under_way:
                    interrupts.heard()
                    with self._state.changing():  # waits for readers, until a second Ctrl-C
                        self._put_back()
                raise
        return False

    def _advance(self) -> bool:
        """Take one turn; True if an arrival must be waited for."""
        if self.closed:
            return False
        if self._state.open and not self._policy.busy:
            raise TidelogError(
                "error: a transaction is open\n    commit it or roll it back, then "
                "continue the stream"
            )
        try:
            with Interrupts(whole=True):
                self._portions = self._portions + 1 if self._fill() else 0
                if self._portions and (self._portions < PATIENCE or not self._policy.busy):
                    return False
                if self._policy.busy:
                    self._step()
                elif self._fault is not None or self.arrivals.ended:
                    self.close()
                else:
                    return True
        except BaseException:
            self._put_back()
            raise
        return False

    def _fill(self) -> bool:
        """Pass arrived updates to the policy; True if reading must continue first."""
        took = False
        while self._policy.wants():
            update = self._next()
            if update is None:
                # Updates just taken need not wait until a long update has been read; those under
                # way may wait for a while, because it might undo them.
                return self.arrivals.midway and not took
            took = True
            self._under_way.append(update)
            try:
                self._policy.take(update)
            except Exception as error:
                self._under_way.pop()
                self._todo.clear()
                self._fault = error
                return False
        return False

    def _next(self) -> Arrived | None:
        """The next update that the policy may have. One that changes rules is applied alone."""
        if not self._todo and self._fault is None:
            try:
                update = self.arrivals.poll()
            except BaseException as error:  # raised after the updates before it
                self._fault = error
                return None
            if update is not None:
                self._todo.append(update)
        if not self._todo:
            return None
        if self._policy.busy and (self._todo[0].changes_rules or self._rules_under_way()):
            return None
        return self._todo.popleft()

    def _rules_under_way(self) -> bool:
        return bool(self._under_way) and self._under_way[-1].changes_rules

    def _look(self) -> Arrived | None:
        """The next update, for a policy that takes it during a step."""
        update = None if self._draining else self._next()
        if update is not None:
            self._under_way.append(update)
        return update

    def _step(self) -> None:
        try:
            done = self._policy.step()
        except Exception as error:
            self._policy.give_up()
            if len(self._under_way) > 1:
                self._one_by_one()
            else:
                self._fail(error)
            return
        self._finish(done)

    def _finish(self, done: Any) -> None:
        for each in done:
            update = self._under_way.popleft()
            assert update.number == each.number
            self.arrivals.applied(each.number)
            self.metrics.add(each)
            self._ready.append(each)

    def _one_by_one(self) -> None:
        """Updates failed together: apply them one by one, to find the one at fault."""
        alone = self._plain()
        while self._under_way:
            alone.take(self._under_way[0])
            try:
                done = alone.step()
            except Exception as error:
                self._fail(error)
                return
            self._finish(done)

    def _fail(self, error: BaseException) -> None:
        self._under_way.clear()
        self._todo.clear()
        self._fault = error

    def _put_back(self) -> None:
        """Undo unfinished updates; if the stream continues, they are applied again."""
        with suppress(KeyboardInterrupt), Interrupts(whole=True) as interrupts:
            interrupts.heard()
            self._todo.extendleft(reversed(self._under_way))
            self._under_way.clear()
            self._policy.give_up()

    @contextmanager
    def drained(self) -> Iterator[None]:
        """Finish what is under way; no update begins within the block.

        If an update fails, the stream raises its error when its turn comes.
        """
        if threading.get_ident() in self._state.held and not self._policy.busy:
            yield  # a snapshot within another one
            return
        with self._state.changing():
            self._draining = True
            try:
                while self._policy.busy:
                    with Interrupts(whole=True):
                        self._step()
            except KeyboardInterrupt:
                self._put_back()
                raise
            finally:
                self._draining = False
            yield

    # The end.

    def close(self) -> list[Finished]:
        """Stop reading, and undo unfinished updates. Returns the updates that have taken effect and
        were not returned before; later calls return the same list."""
        if self.closed:
            return self._left
        with self._state.lock, Interrupts(whole=True):
            self.closed = True
            self._left = list(self._ready)
            if self._policy.busy:
                self._policy.give_up()
            self._under_way.clear()
            self._todo.clear()
            self.arrivals.close()
        return self._left

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

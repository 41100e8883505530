"""Python functions that a program calls: `@f(x)` where it declares `.functor f(x: number): number`.

A functor is taken for a pure function: the same arguments, the same result, and nothing else
happens. That is a declaration, not something that could be looked up in the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from tidelog.program.rules import Constraint, Expression, Range, Rule
from tidelog.program.syntax import Call, Cast

MARK = "_tidelog_functor"  # an attribute of functions that were declared


@dataclass(frozen=True, slots=True)
class Functor:
    """A function, and what was declared of it.

    One that is `vectorised` takes and gives NumPy arrays. `safe` says that it may be called while
    facts change, though it is not `pure` or its declaration in the program is stateful.
    """

    function: Callable[..., Any]
    vectorised: bool = False
    pure: bool = True
    safe: bool = False

    def __call__(self, *args: Any) -> Any:
        """The result for one list of arguments."""
        if not self.vectorised:
            return self.function(*args)
        columns = [np.array([arg], dtype=object if isinstance(arg, str) else None) for arg in args]
        return self.function(*columns)[0]


@overload
def functor(function: Callable[..., Any], /) -> Callable[..., Any]: ...
@overload
def functor(
    *, vectorised: bool = False, pure: bool = True, safe: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def functor(
    function: Callable[..., Any] | None = None,
    /,
    *,
    vectorised: bool = False,
    pure: bool = True,
    safe: bool = False,
) -> Any:
    """Declare what a function is like that a program calls.

    `vectorised`: it takes a NumPy array for each argument and gives one, for many calls at once.
    `pure=False`: it may give another result the next time; then facts and rules cannot be changed
    where it is used, unless it is `safe`: what it gave for some arguments is remembered.

    >>> @functor(vectorised=True)
    ... def half(x):
    ...     return x // 2
    >>> declared(half).vectorised
    True
    """

    def declare(what: Callable[..., Any]) -> Callable[..., Any]:
        setattr(what, MARK, Functor(what, vectorised, pure, safe))
        return what

    return declare if function is None else declare(function)


def declared(function: Callable[..., Any]) -> Functor:
    """The function with what was declared of it."""
    found = getattr(function, MARK, None)
    return found if isinstance(found, Functor) else Functor(function)


def calls(rule: Rule) -> Iterator[Call]:
    """The functors of the program's own that a rule calls, and `autoinc`."""
    for part in rule.body:
        if isinstance(part, Constraint):
            yield from _calls(part.left, part.right)
        elif isinstance(part, Range):
            yield from _calls(part.start, part.stop, part.step)


def _calls(*terms: Expression | None) -> Iterator[Call]:
    stack: list[Any] = [*terms]
    while stack:
        term = stack.pop()
        if isinstance(term, Call):
            stack += term.args
            if term.functor.startswith("@") or term.functor == "autoinc":
                yield term
        elif isinstance(term, Cast):
            stack.append(term.term)

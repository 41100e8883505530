"""Python functions that a program calls: `@f(x)` where it declares `.functor f(x: number): number`.

A functor is assumed to be pure: the same arguments give the same result, without side effects.
This is declared, because it cannot be checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from tidelog.program.builtin_functors import is_declared
from tidelog.program.formula_walk import everything, terms_of
from tidelog.program.rules import Rule
from tidelog.program.syntax import Call

MARK = "_tidelog_functor"  # an attribute of declared functions


@dataclass(frozen=True, slots=True)
class Functor:
    """A function and its declared properties.

    A `vectorised` function takes and returns NumPy arrays. `safe` says that it may be called while
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
    """Declare the properties of a function that programs call.

    `vectorised`: it takes a NumPy array per argument and returns one, for many calls at once.
    `pure=False`: its result may differ between calls. Facts and rules that use it then cannot
    change, unless it is `safe`: the first result for each list of arguments is kept.

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
    """The function with its declared properties."""
    found = getattr(function, MARK, None)
    return found if isinstance(found, Functor) else Functor(function)


def calls(rule: Rule) -> Iterator[Call]:
    """The functors declared by the program that a rule calls, and `autoinc`."""
    for part in rule.body:
        for node in everything(*terms_of(part)):
            if isinstance(node, Call) and (is_declared(node.functor) or node.functor == "autoinc"):
                yield node

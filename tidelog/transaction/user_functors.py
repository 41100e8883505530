"""The functors of a database: which Python function each has, and whether it may be used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tidelog.program.diagnostics import Diagnostic, ProgramError, Sources, TidelogError
from tidelog.program.functors import Functor, calls, declared
from tidelog.program.rules import Rule
from tidelog.program.suggestions import did_you_mean
from tidelog.program.syntax import Call, FunctorDecl, Span


class Functors:
    """Functions by the name that rules call them by, `@` included."""

    def __init__(
        self,
        declarations: Iterable[FunctorDecl],
        given: Mapping[str, Any] | None = None,
        numbered: Sequence[Span] = (),
    ) -> None:
        self._numbered = numbered  # where `autoinc()` stands
        self._declared = {f"@{each.name}": each for each in declarations}
        self.functions: dict[str, Functor] = {}
        self._used: dict[str, Call] = {}  # by rules: the first call of each
        if given is not None and not isinstance(given, Mapping):
            raise TidelogError(f"error: functors are given by name; {given!r} is no mapping")
        for name, function in (given or {}).items():
            self.bind(name, function)

    def bind(
        self,
        name: str,
        function: Callable[..., Any] | Functor,
        *,
        vectorised: bool | None = None,
        pure: bool | None = None,
        safe: bool | None = None,
    ) -> None:
        """Let the program's functor be this function; what is given here counts more than what
        its decorator says."""
        key = f"@{name}"
        declaration = self._declared.get(key)
        if declaration is None:
            raise TidelogError(
                f"error: the program declares no functor {name}\n    {self._advice(str(name))}"
            )
        if key in self._used and key in self.functions:
            raise TidelogError(
                f"error: functor {name} is in use, and its results are remembered\n"
                "    give another function to another database"
            )
        if not callable(function):
            raise TidelogError(f"error: functor {name} must be a function, got {function!r}")
        known = function if isinstance(function, Functor) else declared(function)
        made = Functor(
            known.function,
            known.vectorised if vectorised is None else vectorised,
            known.pure if pure is None else pure,
            known.safe if safe is None else safe,
        )
        if made.vectorised and not declaration.parameters:
            raise TidelogError(
                f"error: functor {name} takes no arguments, so it cannot be vectorised\n"
                "    it is called once; leave vectorised out"
            )
        self.functions[key] = made

    def _advice(self, name: str) -> str:
        names = [key[1:] for key in self._declared]
        known = f"it declares {', '.join(names)}"
        return did_you_mean(name, names, known if names else f".functor {name}(…): … declares it")

    def use(self, rules: Iterable[Rule], sources: Sources | None = None) -> None:
        """These rules will be evaluated: what they call must have a function."""
        if not self._declared:
            return
        found = {call.functor: call for rule in rules for call in calls(rule)}
        found.pop("autoinc", None)
        missing = [call for name, call in found.items() if name not in self.functions]
        if missing:
            advice = "give it one: functors={{{0!r}: …}}, or --functors MODULE.py"
            raise ProgramError(
                [
                    Diagnostic(
                        f"functor {call.functor[1:]} has no function",
                        call.at if call.at.line else None,
                        advice.format(call.functor[1:]),
                    )
                    for call in missing
                ],
                sources,
            )
        self._used = {**found, **self._used}

    def require_stable(self, rules: Iterable[Rule] = (), sources: Sources | None = None) -> None:
        """Refuse changes of facts and rules where a functor may change its mind: what was derived
        by one result must go by the same one. Those in use are looked at, and those of `rules`."""
        more = {call.functor: call for rule in rules for call in calls(rule)}
        counter = more.pop("autoinc", None)
        if self._numbered or counter is not None:
            place = self._numbered[0] if counter is None else counter.at
            message = "autoinc() numbers facts once, so facts and rules cannot be changed"
            advice = "give the facts numbers of their own"
            raise ProgramError([Diagnostic(message, place, advice)], sources)
        for name, call in {**self._used, **more}.items():
            function, declaration = self.functions.get(name), self._declared[name]
            if function is None or function.safe or (function.pure and not declaration.stateful):
                continue
            why = "is declared stateful" if declaration.stateful else "is not pure"
            advice = "declare it safe, if that is no matter: @tidelog.functor(safe=True)"
            message = f"functor {name[1:]} {why}, so facts and rules cannot be changed"
            at = call.at if call.at.line else None
            raise ProgramError([Diagnostic(message, at, advice)], sources)

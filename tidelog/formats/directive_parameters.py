"""The parameters of a directive, by name."""

from __future__ import annotations

from tidelog.formats.fact_formats import ALWAYS, IO, PARAMETERS
from tidelog.formats.parameters import Given
from tidelog.formats.spark_formats import Wrong
from tidelog.program.suggestions import suggestion
from tidelog.program.syntax import Directive

# Parameters that only Soufflé has, and what to do instead.
_OTHERS = {
    "filepath": "use filename",
    "columns": "write a rule that has the columns in the order that you want",
}
_ON_SPARK = "; formats that Spark knows (parquet, json, delta, …) need --engine spark"


def read_parameters(directive: Directive) -> Given:
    """The parameters by name, with the kind of IO always among them, and the relation's name."""
    action = f"`.{directive.action}`"
    kind = _kind(directive)
    known = _known(directive.action, kind)
    given: Given = {}
    for key, value in directive.parameters:
        if key == "attributeNames" and directive.action == "input":
            continue  # the header of an input is ignored
        if key not in known:
            if key in _OTHERS:
                raise Wrong(f"{action} has no parameter `{key}`", _OTHERS[key])
            if key in PARAMETERS:
                raise Wrong(f"parameter `{key}` does not apply to `IO={kind}`", "remove it")
            raise Wrong(f"{action} has no parameter `{key}`", suggestion(key, known))
        if key in given:
            raise Wrong(f"parameter `{key}` is given twice", "keep one of them")
        given[key] = value
    return {"IO": kind, "relation": directive.relation, **given}


def _kind(directive: Directive) -> str:
    kinds = [name for name, io in IO.items() if directive.action in io.actions]
    kind = next((value for key, value in directive.parameters if key == "IO"), kinds[0])
    if kind not in kinds:
        advice = "use " + " or ".join(f"IO={each}" for each in kinds)
        if kind in IO:
            raise Wrong(f"`.{directive.action}` cannot use `IO={kind}`", advice)
        if directive.action != "printsize":
            advice += _ON_SPARK
        raise Wrong(f"unknown format `IO={kind}`", advice)
    return kind


def _known(action: str, kind: str) -> tuple[str, ...]:
    """The parameters that a kind takes."""
    return (*ALWAYS, *(key for key in IO[kind].takes if action in PARAMETERS[key].actions))

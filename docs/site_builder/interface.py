"""The reference of everything that `import giantstep as gs` offers."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

import giantstep
from giantstep import estimators

_HEAD = """# Python interface

Everything below is an attribute of `giantstep`, imported when it is first used.
"""
_VERBS = (
    *("explain", "simulate", "predict", "compare", "ask", "spectrum", "figure", "report"),
    "draw",
)
_RESULTS = ("Answer", "Run", "Prediction", "Explanation", "TreeExplanation")
_RESULTS += ("SpectrumComparison", "Rendering")
_NOUNS = ("Target", "TreeTarget", "Problem", "Size", "Study")
_ERRORS = ("GiantstepError", "TargetError", "SettingsError", "NoTheory", "StoreError")


def _entry(name: str, value: object) -> str:
    home = inspect.getmodule(value)
    assert home is not None
    kind = "autoclass" if inspect.isclass(value) else "autofunction"
    members = kind == "autoclass" and not issubclass(value, Exception)  # type: ignore[arg-type]
    options = "   :members:\n" if members else ""
    # A class may have another name at home than at the front door.
    own = getattr(value, "__name__", name)
    return f"```{{eval-rst}}\n.. {kind}:: {home.__name__}.{own}\n{options}```"


def _once(names: Iterable[str], room: object) -> dict[str, object]:
    """The values by name; one class may have two names at the front door."""
    values = {name: getattr(room, name) for name in names}
    last = {id(value): name for name, value in values.items()}
    return {name: values[name] for name in last.values()}


def pages() -> dict[str, str]:
    """The pages by file name: one for each class and verb, and one that lists them."""
    settings = tuple(
        name
        for name in dir(giantstep)
        if hasattr(getattr(giantstep, name), "learner") and name not in _RESULTS
    )
    inputs = ("Gaussian", "Sphere", "Spiked", "Hypercube")
    listed = {*_VERBS, *_NOUNS, *inputs, *_RESULTS, *settings, *estimators.__all__, *_ERRORS}
    others = tuple(name for name in giantstep.__all__ if name not in listed)
    sections = {
        "Verbs": _once(_VERBS, giantstep),
        "What is to be learned": _once(_NOUNS, giantstep),
        "Laws of the inputs": _once(inputs, giantstep),
        "Results": _once(_RESULTS, giantstep),
        "Settings of the learners": _once(settings, giantstep),
        "Estimators": _once(estimators.__all__, estimators),
        "Errors": _once(_ERRORS, giantstep),
        "More": _once(others, giantstep),
    }
    index, found = [_HEAD], {}
    for title, values in sections.items():
        if values:
            names = "\n".join(f"api/{name}" for name in values)
            index.append(f"## {title}\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n")
        for name, value in values.items():
            found[f"api/{name}.md"] = f"# {name}\n\n{_entry(name, value)}\n"
    return {"api.md": "\n".join(index), **found}

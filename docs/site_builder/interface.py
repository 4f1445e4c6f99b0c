"""The reference of everything that `import giantstep as gs` offers."""

from __future__ import annotations

import inspect

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


def _section(title: str, names: tuple[str, ...], room: object = None) -> str:
    values = {name: getattr(room, name) if room else getattr(giantstep, name) for name in names}
    # One class may have two names at the front door.
    once = {id(value): name for name, value in values.items()}
    entries = (_entry(name, values[name]) for name in once.values())
    return "\n\n".join((f"## {title}", *entries))


def page() -> str:
    """The page."""
    settings = tuple(
        name
        for name in dir(giantstep)
        if hasattr(getattr(giantstep, name), "learner") and name not in _RESULTS
    )
    inputs = ("Gaussian", "Sphere", "Spiked", "Hypercube")
    listed = {*_VERBS, *_NOUNS, *inputs, *_RESULTS, *settings, *estimators.__all__, *_ERRORS}
    others = tuple(name for name in giantstep.__all__ if name not in listed)
    return "\n\n".join(
        (
            _HEAD,
            _section("Verbs", _VERBS),
            _section("What is to be learned", _NOUNS),
            _section("Laws of the inputs", inputs),
            _section("Results", _RESULTS),
            _section("Settings of the learners", settings),
            _section("Estimators", tuple(estimators.__all__), estimators),
            _section("Errors", _ERRORS),
            *([_section("More", others)] if others else []),
        )
    )

"""giantstep: how a neural network learns the few directions that matter.

The verbs are :func:`explain`, :func:`simulate`, :func:`predict`, :func:`compare`,
:func:`spectrum`, :func:`figure`, :func:`report` and :func:`lab`; the nouns :class:`Target`,
:class:`Problem` and one settings class per learner. Names are imported when they are first used, so
that ``import giantstep`` costs nothing.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from giantstep.errors import GiantstepError, NoTheory, SettingsError, TargetError
    from giantstep.estimators import GiantStepClassifier, GiantStepRegressor
    from giantstep.figures.rendering import Rendering
    from giantstep.figures.result import draw
    from giantstep.figures.verb import figure
    from giantstep.inputs import Gaussian, Hypercube, Sphere, Spiked
    from giantstep.lab.launch import lab
    from giantstep.problem import Problem
    from giantstep.report.verb import report
    from giantstep.results import Prediction, Run
    from giantstep.settings.amp import Amp
    from giantstep.settings.giant_step import GiantStep
    from giantstep.settings.kernel import KernelRidge as Kernel
    from giantstep.settings.power_law import PowerLaw
    from giantstep.settings.random_features import RandomFeatures
    from giantstep.settings.spectral import Spectral
    from giantstep.settings.spiked_random_features import SpikedRandomFeatures
    from giantstep.settings.sweeps import sweep
    from giantstep.sizes import Size
    from giantstep.studies.database import StoreError
    from giantstep.studies.study import Study
    from giantstep.sweep import Sweep
    from giantstep.targets import Target, TreeTarget
    from giantstep.twins.comparison import Comparison
    from giantstep.twins.explanation import Explanation, explain
    from giantstep.twins.layer_risk import LayerRisk, layer_risk
    from giantstep.twins.spectra import SpectrumComparison, spectrum
    from giantstep.twins.tree_explanation import TreeExplanation
    from giantstep.twins.verbs import compare, predict, simulate

__version__ = "0.1.0"

#: Where each name lives; the name there, where it is another one, after a colon.
_HOME = {
    "Amp": "settings.amp",
    "Comparison": "twins.comparison",
    "Explanation": "twins.explanation",
    "Gaussian": "inputs",
    "GiantStep": "settings.giant_step",
    "GiantStepClassifier": "estimators",
    "GiantStepRegressor": "estimators",
    "GiantstepError": "errors",
    "Hypercube": "inputs",
    "Kernel": "settings.kernel:KernelRidge",
    "LayerRisk": "twins.layer_risk",
    "NoTheory": "errors",
    "PowerLaw": "settings.power_law",
    "Prediction": "results",
    "Problem": "problem",
    "RandomFeatures": "settings.random_features",
    "Rendering": "figures.rendering",
    "Run": "results",
    "SettingsError": "errors",
    "Size": "sizes",
    "Spectral": "settings.spectral",
    "SpectrumComparison": "twins.spectra",
    "Sphere": "inputs",
    "Spiked": "inputs",
    "SpikedRandomFeatures": "settings.spiked_random_features",
    "StoreError": "studies.database",
    "Study": "studies.study",
    "Sweep": "sweep",
    "Target": "targets",
    "TargetError": "errors",
    "TreeExplanation": "twins.tree_explanation",
    "TreeTarget": "targets",
    "compare": "twins.verbs",
    "draw": "figures.result",
    "explain": "twins.explanation",
    "figure": "figures.verb",
    "lab": "lab.launch",
    "layer_risk": "twins.layer_risk",
    "predict": "twins.verbs",
    "report": "report.verb",
    "simulate": "twins.verbs",
    "spectrum": "twins.spectra",
    "sweep": "settings.sweeps",
}
#: Verbs that have the name of a room: the room is called for them.
_ROOMS_TOO = ("lab", "report", "sweep")

__all__ = [
    "Amp",
    "Comparison",
    "Explanation",
    "Gaussian",
    "GiantStep",
    "GiantStepClassifier",
    "GiantStepRegressor",
    "GiantstepError",
    "Hypercube",
    "Kernel",
    "LayerRisk",
    "NoTheory",
    "PowerLaw",
    "Prediction",
    "Problem",
    "RandomFeatures",
    "Rendering",
    "Run",
    "SettingsError",
    "Size",
    "Spectral",
    "SpectrumComparison",
    "Sphere",
    "Spiked",
    "SpikedRandomFeatures",
    "StoreError",
    "Study",
    "Sweep",
    "Target",
    "TargetError",
    "TreeExplanation",
    "TreeTarget",
    "compare",
    "draw",
    "explain",
    "figure",
    "lab",
    "layer_risk",
    "predict",
    "report",
    "simulate",
    "spectrum",
    "sweep",
]


def _named(name: str) -> Any:
    home, _, other = _HOME[name].partition(":")
    return getattr(importlib.import_module(f"giantstep.{home}"), other or name)


def __getattr__(name: str) -> Any:
    if name in _ROOMS_TOO:
        return importlib.import_module(f"giantstep.{name}")
    if name in _HOME:
        return _named(name)
    found = {} if name.startswith("_") else _of_the_tables()
    if name not in found:
        raise AttributeError(f"module 'giantstep' has no attribute {name!r}")
    return found[name]


def __dir__() -> list[str]:
    return sorted({*__all__, *_of_the_tables(), "__version__"})


def _of_the_tables() -> dict[str, Any]:
    """The settings of every learner and every law of the inputs, those without a line above too."""
    from giantstep.inputs.reading import LAWS
    from giantstep.twins.table import TWINS

    classes: list[Any] = [row.load("settings") for row in TWINS]
    return {each.__name__: each for each in [*classes, *LAWS.values()]}


class _RoomAndVerb(types.ModuleType):
    """A room that can be called as the verb of its name: ``giantstep.report("h1")``."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _named(self.__name__.rpartition(".")[2])(*args, **kwargs)


class _FrontDoor(types.ModuleType):
    """Python binds a room to its name here once it is imported; it must not hide the verb."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _ROOMS_TOO and isinstance(value, types.ModuleType):
            value.__class__ = _RoomAndVerb
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor

"""Spectra after giant steps: simulated values laid over the predicted bulk and outliers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from giantstep.answer import json_value
from giantstep.answer.table import Column, answer_number, table_number, titled_text_table
from giantstep.answer.words import answer_in_words, question_facts
from giantstep.errors import NoTheory, SettingsError, whole_or_error
from giantstep.language.inputs import Gaussian, checked_input_law
from giantstep.language.problem import GivenInputs, Problem
from giantstep.language.targets import Target
from giantstep.learners.giant_step.spectra import (
    SimulatedSpectrum,
    simulate_feature_spectrum,
    simulate_weight_spectrum,
    simulated_spectrum_cost,
)
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.spiked_random_features import SpikedRandomFeatures
from giantstep.theory.giant_step.spectra.prediction import (
    SpectrumPrediction,
    predict_feature_spectrum,
    predict_weight_spectrum,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["weights", "features"]

#: Values at which the cumulative curves are tabulated.
POINTS = 200
#: A value counts as outlier beyond the edge by this many units of d^(-2/3), the edge's own blur.
_BLUR = 2.5


@dataclass(frozen=True, eq=False)
class SpectrumComparison:
    """A predicted spectrum and simulated ones, one for each seed; none without a dimension."""

    kind: Kind
    problem: Problem
    settings: GiantStep | SpikedRandomFeatures
    seeds: int
    seed: int
    prediction: SpectrumPrediction
    runs: Sequence[SimulatedSpectrum]

    def __repr__(self) -> str:
        return self.table()

    @property
    def leading(self) -> Float[np.ndarray, "seeds values"]:
        """The largest values of each run, those whose vectors are compared."""
        some = [next(iter(run.overlaps.values())) for run in self.runs]
        return np.array(
            [run.values[: len(first)] for run, first in zip(self.runs, some, strict=True)]
        )

    @property
    def outliers(self) -> Float[np.ndarray, "seeds outliers"]:
        """The simulated values that stand clear of the bulk in the mean."""
        leading = self.leading
        blur = _BLUR * float(self.settings.dim or 0) ** (-2 / 3)
        clear = leading.mean(axis=0) > self.prediction.bulk_edges[1] * (1 + blur)
        return leading[:, : int(np.argmin([*clear, False]))]

    def cumulative(self) -> dict[str, np.ndarray]:
        """The share of values up to x, without bins: predicted, and each run's."""
        low, high = self.prediction.bulk_edges
        x = np.linspace(max(0.0, low - 0.05 * high), 1.05 * high, POINTS)
        zero = self.prediction.mass_at_zero
        grid, density = self.prediction.x, self.prediction.density
        steps = np.diff(grid) * (density[1:] + density[:-1]) / 2
        mass = np.concatenate([[0.0], np.cumsum(steps)])
        predicted = zero + np.interp(x, grid, mass, left=0.0) * (1 - zero) / mass[-1]
        # Singular values leave out the zeros of a tall matrix; eigenvalues of p features do not.
        hidden = zero if self.kind == "weights" else 0.0
        runs = [hidden + (1 - hidden) * run.cumulative(x) for run in self.runs]
        return {"x": x, "predicted": predicted, "simulated": np.array(runs).reshape(-1, POINTS)}

    def found(self) -> dict[str, Any]:
        """Everything that is known, by name; simulated numbers are means over the runs."""
        prediction, curves = self.prediction, self.cumulative()
        simulated = self.outliers if self.runs else np.zeros((0, 0))
        count = max(simulated.shape[1], len(prediction.outliers))
        return {
            "spectrum": self.kind,
            "problem": self.problem.to_json(),
            "settings": {**self.settings.to_json(), "seeds": self.seeds, "seed": self.seed},
            "bulk_edges": prediction.bulk_edges,
            "outliers": _compared(prediction.outliers, simulated),
            "overlaps": {
                name: _compared(values, np.array([run.overlaps[name][:count] for run in self.runs]))
                for name, values in prediction.overlaps.items()
            },
            "leading": _mean(self.leading),
            "mass_at_zero": prediction.mass_at_zero,
            "density": {"x": prediction.x, "predicted": prediction.density},
            "cumulative": {**curves, "simulated": _mean(curves["simulated"])},
            "details": prediction.details,
            "notes": prediction.notes,
            "references": prediction.references,
        }

    def to_json(self) -> dict[str, Any]:
        """The object that ``spectrum --json`` prints."""
        return json_value(self.found())

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the bulk and its outliers: theory as lines, runs as a histogram and dots."""
        # Pictures are a room below this one: the front door knows the way.
        import giantstep

        return giantstep.draw(self, ax=ax)

    def table(self) -> str:
        """The text that the command line prints."""
        return _asked_spectrum_text(self)


def spectrum(
    settings: GiantStep | SpikedRandomFeatures,
    problem: Problem | Target | str,
    *,
    of: Kind = "weights",
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    seeds: int = 4,
    seed: int = 0,
) -> SpectrumComparison:
    """The spectrum of the weights or of the features after giant steps, in law and simulated.

    Arguments are those of :func:`simulate`. Without a dimension, or with ``seeds`` = 0, it is
    predicted alone.
    """
    if isinstance(settings, str):
        raise SettingsError(
            f"settings = {settings!r}: settings come first, as in "
            "spectrum(GiantStep(step_size=3), 'sin(h1)', of='weights')"
        )
    if of not in get_args(Kind):
        raise SettingsError(f"of = {of!r}: use weights or features")
    given = Problem.of(problem, noise=noise, inputs=inputs)
    return compare_spectra(of, given, settings, seeds=seeds, seed=seed)


def compare_spectra(
    kind: Kind,
    problem: Problem,
    settings: GiantStep | SpikedRandomFeatures,
    *,
    seeds: int = 4,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> SpectrumComparison:
    """Predict a spectrum and simulate it once for each seed; ``seeds`` = 0 predicts alone."""
    seeds, seed = whole_or_error("seeds", seeds, 0), whole_or_error("seed", seed, 0)
    settings.check_single_point("a spectrum")
    checked_input_law(problem.inputs, (Gaussian,), "spectra are predicted", NoTheory)
    if seeds and settings.dim is not None:
        simulated_spectrum_cost(settings).check(seeds)
    if kind == "weights":
        if not isinstance(settings, GiantStep):
            raise SettingsError("spectrum of the weights: give the settings of a giant step")
        prediction = predict_weight_spectrum(problem, settings)
    else:
        prediction = predict_feature_spectrum(problem, settings)
    runs = []
    for index in range(seeds if settings.dim is not None else 0):
        if isinstance(settings, GiantStep) and kind == "weights":
            runs.append(simulate_weight_spectrum(problem, settings, seed + index))
        else:
            runs.append(simulate_feature_spectrum(problem, settings, seed + index))
        if progress is not None:
            progress((index + 1) / seeds)
    return SpectrumComparison(kind, problem, settings, seeds, seed, prediction, tuple(runs))


def _compared(predicted: tuple[float, ...], simulated: np.ndarray) -> dict[str, Any]:
    """Predicted numbers, the means of simulated ones over seeds, and their standard errors."""
    sem: Any = []
    if len(simulated) > 1:
        sem = simulated.std(axis=0, ddof=1) / np.sqrt(len(simulated))
    return {"predicted": predicted, "simulated": _mean(simulated), "simulated_sem": sem}


def _mean(values: np.ndarray) -> Any:
    return values.mean(axis=0) if len(values) else []


def _asked_spectrum_text(found: SpectrumComparison) -> str:
    """What it is about, one row per number, papers and notes."""
    known = found.found()
    kind = "comparison" if found.runs else "prediction"
    facts = question_facts(found.settings, found.problem)
    if found.runs:
        facts |= {"seeds": found.seeds, **({"seed": found.seed} if found.seed else {})}
    about = (f"{kind}: spectrum of the {found.kind}", ", ".join(answer_in_words(facts)))
    details = known["details"].items()
    below = [f"{name.replace('_', ' ')}: {table_number(own)}" for name, own in details]
    below.append(f"papers: {'; '.join(known['references'])}")
    columns = _asked_spectrum_columns(known, bool(found.runs))
    return titled_text_table(about, columns, below, known["notes"])


def _asked_spectrum_columns(known: dict[str, Any], simulated: bool) -> list[Column]:
    low, high = known["bulk_edges"]
    rows = [("bulk from", math.nan, math.nan, low), ("bulk to", math.nan, math.nan, high)]
    groups = {"outlier": known["outliers"]}
    groups |= {f"overlap, {name}": own for name, own in known["overlaps"].items()}
    for name, own in groups.items():
        parts = [own["simulated"], own["simulated_sem"], own["predicted"]]
        for index in range(max(map(len, parts))):
            mean, sem, theory = (
                float(part[index]) if index < len(part) else math.nan for part in parts
            )
            rows.append((f"{name} {index + 1}", mean, sem, theory))
    measured = Column("", "simulation", [answer_number(mean, sem) for _, mean, sem, _ in rows])
    return [
        Column("", "", [name for name, *_ in rows]),
        *([measured] if simulated else []),
        Column("", "theory", [table_number(theory) for *_, theory in rows]),
    ]

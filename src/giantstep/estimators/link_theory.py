"""From data back to theory: what theory says of a fitted link, over what the estimator measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.base import clone

from giantstep.errors import GiantstepError
from giantstep.estimators.as_target import LinkTarget, link_target
from giantstep.estimators.regressor import GiantStepRegressor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from giantstep.twins.explanation import Explanation

#: Ridge of the readout after the predicted giant step, for labels of unit variance.
STEP_RIDGE = 0.1
#: Least share of the label's variance that is taken for noise.
LEAST_NOISE = 1e-3


@dataclass(frozen=True, eq=False)
class LinkTheory:
    """Theory of a fitted link at the table's number of columns, with the measured learning curve.

    ``stairs`` has a line for each stair: directions, leap, class, and the samples from which they
    should appear at this d. ``curves`` has a line for each number of rows: the R^2 that theory
    gives random features and one giant step at this link, and the estimator's own, measured on
    rows left out. ``noise`` is a share of the label's variance. ``notes`` say what is assumed.
    """

    link: LinkTarget
    explanation: Explanation
    noise: float
    dim: int
    stairs: pd.DataFrame
    curves: pd.DataFrame
    notes: tuple[str, ...]

    def plot(self) -> Figure:
        """The learning curves: a matplotlib Figure."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(4.8, 3.2), layout="constrained")
        axis = figure.subplots()
        samples = self.curves["samples"]
        axis.plot(samples, self.curves["random_features"], "--", label="random features, theory")
        axis.plot(samples, self.curves["giant_step"], "-", label="one giant step, theory")
        axis.errorbar(
            samples,
            self.curves["measured"],
            yerr=self.curves["measured_sem"],
            fmt="o",
            color="k",
            label="estimator, measured",
        )
        axis.set_xscale("log")
        axis.set_xlabel("rows n")
        axis.set_ylabel("R2 on rows left out")
        # Curves rise from the left, so that the lower right stays free.
        axis.legend(frameon=False, fontsize="small", loc="lower right")
        return figure


def link_theory(
    model: GiantStepRegressor,
    X: Any,
    y: Any,
    *,
    points: int = 4,
    repeats: int = 2,
    random_state: int = 0,
) -> LinkTheory:
    """Take the fitted link for a target, and lay theory's learning curves beside measured ones.

    Parameters
    ----------
    model : GiantStepRegressor
        Fitted, with at least one direction.
    X, y : array-like
        The rows that are subsampled to measure the learning curve.
    points, repeats : int
        Numbers of rows on the curve, and fits at each.
    random_state : int
        Seed of the subsamples.

    Raises
    ------
    GiantstepError
        If the model has no direction, or its link is constant.
    """
    from giantstep.twins.explanation import explain

    if model.link_ is None:
        raise GiantstepError("the model found no direction: there is no link to ask theory about")
    found = link_target(model.link_)
    if found.captured <= 0:
        raise GiantstepError("the fitted link is constant: there is nothing to ask theory about")
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    rows, dim = X.shape
    noise = float(np.clip(1 - model.oof_score_, LEAST_NOISE, 1.0))
    explanation = explain(found.target, noise=noise)
    sizes = np.unique(np.geomspace(max(20, 0.1 * rows), 0.8 * rows, points).astype(int))
    scores = _measured(model, X, y, sizes, repeats, random_state)
    predicted, missing = _predicted(found, noise, explanation.variance.value, dim, sizes)
    curves = pd.DataFrame(
        {
            "samples": sizes,
            **predicted,
            "measured": scores.mean(axis=1),
            "measured_sem": _standard_error(scores),
        }
    )
    notes = (
        "Theory takes the inputs for Gaussian once they are whitened, all "
        f"{dim} columns alike; real columns are not. Read it as a guide.",
        f"The polynomial holds {100 * found.captured:.0f} % of the link's variance; what held-out "
        f"rows leave unexplained, {100 * noise:.0f} % of the label's variance, counts as noise.",
        "Samples of a stair are orders of magnitude, and thresholds those of large d.",
        *missing,
    )
    return LinkTheory(found, explanation, noise, dim, _stairs(explanation, dim), curves, notes)


def _stairs(explanation: Explanation, dim: int) -> pd.DataFrame:
    """Stairs with the samples at this d: d^leap of a giant step, alpha d of message passing."""
    frame = explanation.to_frame()
    step = frame["staircase"] == "staircase"
    frame["samples_at_dim"] = np.where(step, float(dim) ** frame["leap"], frame["alpha"] * dim)
    return frame


def _measured(
    model: GiantStepRegressor,
    X: np.ndarray,
    y: np.ndarray,
    sizes: np.ndarray,
    repeats: int,
    seed: int,
) -> Float[np.ndarray, "points repeats"]:
    """R^2 on the rows left out, of fits to subsamples."""
    generator = np.random.default_rng(seed)
    scores = np.empty((len(sizes), repeats))
    for repeat in range(repeats):
        order = generator.permutation(len(y))
        test = order[sizes[-1] :]
        for point, size in enumerate(sizes):
            part = order[:size]
            scores[point, repeat] = clone(model).fit(X[part], y[part]).score(X[test], y[test])
    return scores


def _standard_error(scores: Float[np.ndarray, "points repeats"]) -> Float[np.ndarray, " points"]:
    repeats = scores.shape[1]
    if repeats < 2:
        return np.full(len(scores), np.nan)
    return scores.std(axis=1, ddof=1) / np.sqrt(repeats)


def _predicted(
    link: LinkTarget, noise: float, variance: float, dim: int, sizes: np.ndarray
) -> tuple[dict[str, np.ndarray], list[str]]:
    """R^2 of both learners at each number of rows; NaN, and a note, where there is no theory."""
    from giantstep.settings.giant_step import GiantStep
    from giantstep.settings.random_features import RandomFeatures
    from giantstep.twins.verbs import predict

    notes: list[str] = []
    curves = {name: np.full(len(sizes), np.nan) for name in ("random_features", "giant_step")}
    for point, size in enumerate(map(int, sizes)):
        questions: dict[str, tuple[Any, tuple[str, ...]]] = {
            "random_features": (
                RandomFeatures(dim=dim, samples=str(size), width=str(2 * size)),
                ("ridge",),
            ),
            "giant_step": (
                GiantStep(dim=dim, samples=str(size), width="1d", ridge=STEP_RIDGE),
                (),
            ),
        }
        for name, (settings, optimise) in questions.items():
            try:
                found = predict(settings, link.target, noise=noise, optimise=optimise)
            except GiantstepError as error:
                note = f"No theory of {name.replace('_', ' ')} here: {error}"
                notes += [note] * (note not in notes)
                continue
            error_noisy = np.asarray(found.metrics["test_error_noisy"]).ravel()[-1]
            curves[name][point] = 1 - float(error_noisy) / (variance + noise)
    return curves, notes

r"""From data back to theory: what theory says of a fitted link, over what the estimator measures.

The link :math:`f(h)` of the learned indices is expanded in Hermite polynomials,

.. math:: f(h) \approx \sum_{|k|\le K} c_k \prod_i He_{k_i}(h_i), \qquad
    c_k = E\Big[f(h)\prod_i \frac{He_{k_i}(h_i)}{k_i!}\Big],\quad h\sim N(0, I),

small terms are dropped, and the polynomial is taken for a target. What theory then says assumes
that the whitened inputs are Gaussian, which real tables are not: it is a guide, not a promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.base import clone

from giantstep.errors import GiantstepError
from giantstep.estimators.index_model import Link
from giantstep.estimators.regressor import GiantStepRegressor
from giantstep.language.targets import Target
from giantstep.numerics.hermite import factorial, hermite_values, multi_indices
from giantstep.numerics.quadrature import gauss_hermite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from giantstep.explanation.explain import Explanation

#: Highest degree of the expansion, and nodes of the quadrature along each index.
DEGREE, NODES = 6, 24
#: Terms with less than this share of the variance are left out of the expression.
SHARE = 0.002
#: Ridge of the readout after the predicted giant step, for labels of unit variance.
STEP_RIDGE = 0.1
#: Least share of the label's variance that is taken for noise.
LEAST_NOISE = 1e-3


class LinkTarget(NamedTuple):
    """A polynomial target that stands for a fitted link; ``captured`` is its share of variance."""

    target: Target
    captured: float


def fitted_link_target(link: Link, *, degree: int = DEGREE, share: float = SHARE) -> LinkTarget:
    """The link as a sum of products of Hermite polynomials in h1, h2, ..."""
    rank = len(link.low)
    indices, weights = _fitted_link_grid(rank)
    values = link.predict(indices)
    centred = values - weights @ values
    variance = float(weights @ centred**2)
    tables = [hermite_values(indices[:, axis], degree) for axis in range(rank)]
    terms: list[tuple[float, tuple[int, ...]]] = []
    for powers in multi_indices(rank, degree)[1:]:
        product = np.prod([tables[axis][power] for axis, power in enumerate(powers)], axis=0)
        coefficient = float(weights @ (centred * product)) / factorial(powers)
        if coefficient**2 * factorial(powers) > share * variance:
            terms.append((coefficient, powers))
    kept = sum(coefficient**2 * factorial(powers) for coefficient, powers in terms)
    text = " + ".join(f"({c:.4g})*{_fitted_link_product(powers)}" for c, powers in terms) or "0"
    return LinkTarget(Target(text), kept / variance if variance > 0 else 0.0)


def _fitted_link_product(powers: tuple[int, ...]) -> str:
    factors = [
        f"h{axis + 1}" if power == 1 else f"He{power}(h{axis + 1})"
        for axis, power in enumerate(powers)
        if power
    ]
    return "*".join(factors)


def _fitted_link_grid(rank: int) -> tuple[Float[np.ndarray, "n r"], Float[np.ndarray, " n"]]:
    nodes, weights = gauss_hermite(NODES if rank <= 3 else 10)
    axes = np.meshgrid(*[nodes] * rank, indexing="ij")
    masses = np.meshgrid(*[weights] * rank, indexing="ij")
    return np.stack([a.ravel() for a in axes], axis=1), np.prod([m.ravel() for m in masses], axis=0)


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
    from giantstep.explanation.explain import explain

    if model.link_ is None:
        raise GiantstepError("the model found no direction: there is no link to ask theory about")
    found = fitted_link_target(model.link_)
    if found.captured <= 0:
        raise GiantstepError("the fitted link is constant: there is nothing to ask theory about")
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    rows, dim = X.shape
    noise = float(np.clip(1 - model.oof_score_, LEAST_NOISE, 1.0))
    explanation = explain(found.target, noise=noise)
    sizes = np.unique(np.geomspace(max(20, 0.1 * rows), 0.8 * rows, points).astype(int))
    scores = _fitted_link_scores(model, X, y, sizes, repeats, random_state)
    predicted, missing = _link_theory(found, noise, explanation.variance.value, dim, sizes)
    curves = pd.DataFrame(
        {
            "samples": sizes,
            **predicted,
            "measured": scores.mean(axis=1),
            "measured_sem": pd.DataFrame(scores).sem(axis=1),
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
    return LinkTheory(found, explanation, noise, dim, _link_stairs(explanation, dim), curves, notes)


def _link_stairs(explanation: Explanation, dim: int) -> pd.DataFrame:
    """Stairs with the samples at this d: d^leap of a giant step, alpha d of message passing."""
    frame = explanation.to_frame()
    step = frame["staircase"] == "staircase"
    frame["samples_at_dim"] = np.where(step, float(dim) ** frame["leap"], frame["alpha"] * dim)
    return frame


def _fitted_link_scores(
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


def _link_theory(
    link: LinkTarget, noise: float, variance: float, dim: int, sizes: np.ndarray
) -> tuple[dict[str, np.ndarray], list[str]]:
    """R^2 of both learners at each number of rows; NaN, and a note, where there is no theory."""
    from giantstep.asking.verbs import predict
    from giantstep.settings.giant_step import GiantStep
    from giantstep.settings.random_features import RandomFeatures

    notes: list[str] = []
    curves = {name: np.full(len(sizes), np.nan) for name in ("random_features", "giant_step")}
    for point, size in enumerate(map(int, sizes)):
        features = RandomFeatures(dim=dim, samples=str(size), width=str(2 * size))
        step = GiantStep(dim=dim, samples=str(size), width="1d", ridge=STEP_RIDGE)
        learners: list[tuple[Any, tuple[str, ...]]] = [(features, ("ridge",)), (step, ())]
        for name, (settings, optimise) in zip(curves, learners, strict=True):
            try:
                # At a few columns the start of a step has no room: the answer is NaN.
                with np.errstate(invalid="ignore"):
                    found = predict(settings, link.target, noise=noise, optimise=optimise)
            except GiantstepError as error:
                note = f"No theory of {name.replace('_', ' ')} here: {error}"
                notes += [note] * (note not in notes)
                continue
            error_noisy = np.asarray(found.metrics["test_error_noisy"]).ravel()[-1]
            curves[name][point] = 1 - float(error_noisy) / (variance + noise)
    if np.isnan(curves["giant_step"]).any():
        notes.append(f"At {dim} columns theory of one giant step has no number for every size.")
    return curves, notes

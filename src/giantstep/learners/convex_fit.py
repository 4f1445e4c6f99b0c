"""Linear fits with convex losses, by splitting (ADMM) or scikit-learn, and their susceptibility."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from giantstep.language.losses import Loss
from giantstep.numerics.float64 import in_float64

#: Change of the outputs in a round, relative to their size, at which the fit has settled.
TOLERANCE = 1e-9
ROUNDS = 5000
#: Rounds after which the penalty of the splitting is balanced anew, while there are few.
REBALANCE, BALANCED_UNTIL = 25, 500
#: Distance from a kink of the loss below which a sample is held on it.
ON_KINK = 1e-5


class ConvexFit(NamedTuple):
    """Coefficients of the fit, its outputs, and whether they settled."""

    coefficients: Float[np.ndarray, " p"]
    outputs: Float[np.ndarray, " n"]
    converged: bool


@functools.lru_cache(maxsize=16)
def _proximal_training_step(loss: Loss) -> Callable[..., Any]:
    """The proximal operator, compiled once per loss, not once per fit."""
    return jax.jit(loss.proximal)


@functools.lru_cache(maxsize=16)
def _slopes_and_curvature(loss: Loss) -> Callable[..., Any]:
    """Slopes to both sides of the outputs, at a distance, and curvatures at them; compiled once."""

    @jax.jit
    def around(labels: Any, outputs: Any, aside: Any) -> Any:
        sides = (loss.slope(labels, outputs + side) for side in (-aside, aside))
        return *sides, loss.curvature(labels, outputs)

    return around


@in_float64
def train_convex_readout(
    loss: Loss,
    features: Float[np.ndarray, "n p"],
    labels: Float[np.ndarray, " n"],
    ridge: float,
) -> ConvexFit:
    r"""The minimum of :math:`\sum_i \ell(y_i, a\cdot\phi_i) + (\lambda/2)|a|^2`.

    Outputs z and coefficients a take turns under the penalty (rho/2)|z - Phi a + u|^2: z by the
    loss's proximal operator, a by ridge regression.
    """
    values, vectors = np.linalg.eigh(features.T @ features)
    turned = features @ vectors
    proximal = _proximal_training_step(loss)
    rho, dual = 1.0, np.zeros(len(labels))
    output, coefficients, settled = np.zeros(len(labels)), np.zeros(features.shape[1]), False
    for count in range(ROUNDS):
        fitted = np.asarray(proximal(labels, output - dual, 1 / rho))
        coefficients = (turned.T @ (fitted + dual)) / (values + ridge / rho)
        before, output = output, turned @ coefficients
        dual = dual + fitted - output
        scale = TOLERANCE * (np.linalg.norm(output) + np.sqrt(len(labels)))
        primal = float(np.linalg.norm(fitted - output))
        moved = float(np.linalg.norm(output - before))
        if max(primal, moved) < scale:
            settled = True
            break
        if count % REBALANCE == REBALANCE - 1 and count < BALANCED_UNTIL:
            factor = float(np.clip(np.sqrt(primal / max(moved, 1e-300)), 0.2, 5.0))
            rho, dual = rho * factor, dual / factor
    return ConvexFit(vectors @ coefficients, output, settled)


@in_float64
def trained_susceptibility(
    loss: Loss,
    features: Float[np.ndarray, "n p"],
    labels: Float[np.ndarray, " n"],
    outputs: Float[np.ndarray, " n"],
    ridge: float,
    fresh: Float[np.ndarray, "m p"],
    on_kink: float = ON_KINK,
) -> float:
    r"""V: the mean of :math:`\phi^\top H^{-1} \phi` over fresh samples, H the fit's Hessian.

    Samples on a kink where the slope jumps hold their outputs fast: the coefficients move only
    across their features.
    """
    around = _slopes_and_curvature(loss)(labels, outputs, 10 * on_kink)
    left, right, curvature = (np.asarray(values) for values in around)
    near = np.min(np.abs(loss.kinks(labels) - outputs[:, None]), axis=1, initial=np.inf)
    # A bend without a jump changes the slope by no more than the distance allows.
    held = (near < on_kink) & (right - left > 1e-2)
    free = features[~held]
    hessian = (free * curvature[~held, None]).T @ free
    hessian[np.diag_indices_from(hessian)] += ridge
    covariance = np.cov(fresh, rowvar=False, bias=True)
    basis = np.eye(features.shape[1])
    if held.any():
        basis = np.linalg.qr(features[held].T, mode="complete")[0][:, held.sum() :]
    inverse = np.linalg.solve(basis.T @ hessian @ basis, basis.T)
    return float(np.sum((basis @ inverse) * covariance))


#: How close to the kinks of a loss scikit-learn leaves samples.
ON_MARGIN = 1e-3
#: Up to this many features a few Newton steps cost less than hundreds of gradients.
NEWTON_WIDTH = 2000


def train_classifier_readout(
    loss: str, features: Float[np.ndarray, "n p"], labels: Float[np.ndarray, " n"], ridge: float
) -> Float[np.ndarray, " p"]:
    r"""The minimum of :math:`\sum_i \ell(y_i, a\cdot\phi_i) + (\lambda/2)|a|^2`."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    fitted: Any
    if loss == "logistic":
        solver = "newton-cholesky" if features.shape[1] <= NEWTON_WIDTH else "lbfgs"
        fitted = LogisticRegression(
            C=1 / ridge, fit_intercept=False, solver=solver, tol=1e-8, max_iter=10_000
        )
    else:
        fitted = LinearSVC(
            loss="hinge",
            C=1 / ridge,
            fit_intercept=False,
            dual=True,
            tol=1e-5,
            max_iter=1_000_000,
            random_state=0,
        )
    return fitted.fit(features, labels).coef_[0]

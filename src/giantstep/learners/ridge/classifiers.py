"""Linear classifiers by scikit-learn in our ridge convention, and their susceptibility."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

#: Distance from the margin below which a sample is a support vector on it.
ON_MARGIN = 1e-3
#: Up to this many features a few Newton steps cost less than hundreds of gradients.
NEWTON_WIDTH = 2000


def classifier(
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


def mean_loss(loss: str, margins: Float[np.ndarray, " n"]) -> float:
    """The loss of a sample, averaged, as a function of its margin y f(x)."""
    if loss == "logistic":
        return float(np.mean(np.logaddexp(0.0, -margins)))
    return float(np.mean(np.maximum(1 - margins, 0.0)))


def susceptibility(
    loss: str,
    features: Float[np.ndarray, "n p"],
    margins: Float[np.ndarray, " n"],
    ridge: float,
    fresh: Float[np.ndarray, "m p"],
) -> float:
    r"""V: the mean of :math:`\phi^\top H^{-1} \phi` over fresh samples, H the fit's Hessian.

    The hinge has no curvature but holds the samples on its margin fast, so there
    :math:`H^{-1} = (1 - P)/\lambda` with P the projection on their features.
    """
    covariance = np.cov(fresh, rowvar=False, bias=True)
    if loss == "logistic":
        force = 1 / (1 + np.exp(margins))
        hessian = (features * (force * (1 - force))[:, None]).T @ features
        hessian[np.diag_indices_from(hessian)] += ridge
        return float(np.trace(np.linalg.solve(hessian, covariance)))
    held = features[np.abs(margins - 1) < ON_MARGIN]
    basis, _ = np.linalg.qr(held.T)
    return float(np.trace(covariance) - np.sum(basis * (covariance @ basis))) / ridge

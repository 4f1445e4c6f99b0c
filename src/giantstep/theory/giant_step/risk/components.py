"""Components of the rows along single directions at finite d, to second order.

A row's component beta_i along a direction of the frame is of order d^(-1/2), and steps amplify it:
along a direction of the target by g = 1 + t mu_2 E[y He_2(h)] at the first step. The mean output of
a neuron is ::

    E_z sigma(s + beta.e + sqrt(c) z) = m + u beta.e + (w_1/2) (beta.e)^2 + ...

Its first order is a spike in the limit already. The second, of order 1/d but with the fourth power
of g, gives the functions w_1 e_i e_j to the columns of means and to further columns beta_i beta_j.
The frame F does not suffice: beta goes along with components on Gamma F, which the labels do not
know, so that what fits a label through them fits noise as well. Rows are therefore followed on the
Krylov space of F and Gamma F, with Gamma / d the covariance of the rows. What lies beyond makes the
mean of all neurons vary from sample to sample, by w_1 (tr Gamma^2 / 2)^(1/2) / d.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.numerics.linear_algebra import symmetric_root
from giantstep.theory.giant_step.risk.pencil import Pencil


class Components:
    """Covariances of rows' components, kind by kind: the frame first, then the space Gamma F.

    ``directions`` of the frame, in coordinates, on which samples have projections e ``at``.
    ``alike``: as if all directions were alike.
    """

    def __init__(
        self,
        pencil: Pencil,
        directions: Float[np.ndarray, "vectors D"],
        at: Float[np.ndarray, "D points"],
        dim: float,
        *,
        alike: bool = False,
    ) -> None:
        self.at, self.dim, self.frame = at, dim, len(at)
        neurons, bulks = pencil.layer.neurons, pencil.layer.variances
        if alike:
            own, squares = bulks[:, None, None] * np.eye(self.frame), bulks**2
        else:
            moments, squares, crossed = pencil.moments(directions)
            spaces = np.array([risk_on_krylov_space(each) for each in moments])
            # Kinds share the directions Gamma F up to their signs: t S F for the first step.
            aside = np.trace(crossed[0] - moments[0, 0] @ moments[:, 0], axis1=1, axis2=2)
            signs = np.ones(spaces.shape[:2])
            signs[aside < 0, self.frame :] = -1.0
            own = spaces * signs[:, None] * signs[..., None]
        along = np.trace(own[:, : self.frame, : self.frame], axis1=1, axis2=2)
        #: The largest mean square of a kind's components on the frame, relative to its bulk.
        self.share = float(np.max(along / bulks)) / dim
        self.own = own
        self.rest = squares * (dim - own.shape[1])
        roots = np.array([symmetric_root(each) for each in self.own])
        products = np.einsum("aij,bjk->abik", roots, roots)
        self.covariances = np.where(neurons.twins[..., None, None], products, 0.0)
        self.first, self.second = np.triu_indices(own.shape[1])

    @property
    def along(self) -> Float[np.ndarray, "k points"]:
        """The variance of a row's part within the space, seen by a sample."""
        seen = np.einsum("in,aij,jn->an", self.at, self.own[:, : self.frame, : self.frame], self.at)
        beyond = np.trace(self.own[:, self.frame :, self.frame :], axis1=1, axis2=2)
        return (seen + beyond[:, None]) / self.dim

    def variances(self, bulks: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k points"]:
        """c(e): what the limit says counts the directions of the space as if they were all alike.

        .. math:: c\\,(1 - D/d) + e^T\\Gamma e/d
        """
        return bulks[:, None] * (1 - self.own.shape[1] / self.dim) + self.along

    def functions(
        self, bends: Float[np.ndarray, "k points"]
    ) -> tuple[Float[np.ndarray, "groups k points"], Float[np.ndarray, "groups columns k points"]]:
        """Functions of the columns of means, and of the columns beta_i beta_j.

        Group 0 are functions of e, the others multiply what labels do not know: x_q; x_p x_q, or
        He_2(x_q)/sqrt(2); and the sum over all directions beyond the space.
        """
        frame, size = self.frame, self.own.shape[1]
        inner = [(p, q) for p in range(frame, size) for q in range(p, size)]
        found = np.zeros((2 + size - frame + len(inner), len(self.first), *bends.shape))
        pairs = zip(self.first.tolist(), self.second.tolist(), strict=True)
        for column, (p, q) in enumerate(pairs):
            if q < frame:
                found[0, column] = (0.5 if p == q else 1.0) * self.at[p] * self.at[q] * bends
            elif p < frame:
                found[1 + q - frame, column] = self.at[p] * bends
            else:
                group = 1 + size - frame + inner.index((p, q))
                found[group, column] = bends * (0.5**0.5 if p == q else 1.0)
        weights = self.own[:, self.first, self.second] / self.dim
        means = np.einsum("gckn,kc->gkn", found, weights)
        means[0] = 0.0
        means[-1] = bends * np.sqrt(self.rest / 2)[:, None] / self.dim
        return means, found

    def overlaps(self, spread: Any) -> Any:
        r"""K between the columns beta_i beta_j less their means, by Wick's rule.

        .. math:: \frac{\chi_{ab}}d\big(\Gamma^{ab}_{im}\Gamma^{ab}_{jn}
            + \Gamma^{ab}_{in}\Gamma^{ab}_{jm}\big)
        """
        i, j, gamma = self.first, self.second, self.covariances
        found = gamma[:, :, i[:, None], i] * gamma[:, :, j[:, None], j]
        found = found + gamma[:, :, i[:, None], j] * gamma[:, :, j[:, None], i]
        whole = found * (spread / self.dim)[..., None, None]
        size = len(i) * len(gamma)
        whole = np.moveaxis(whole, (-2, -1), (-4, -2))
        return whole.reshape(*spread.shape[:-2], size, size)


def risk_on_krylov_space(moments: Float[np.ndarray, "3 D D"]) -> Float[np.ndarray, "E E"]:
    """Gamma on the space of F and Gamma F, in an orthonormal basis that begins with F."""
    size = moments.shape[-1]
    chain = [np.eye(size), *moments]
    products, turned = (
        np.block([[chain[i + j + more] for j in range(2)] for i in range(2)]) for more in (0, 1)
    )
    if not np.all(np.diag(products) > 0):
        raise np.linalg.LinAlgError(f"no covariance has the second moments {moments[1]}")
    units = np.sqrt(np.diag(products))
    scale = np.outer(units, units)
    lower = np.linalg.cholesky(products / scale + 1e-10 * np.eye(2 * size))
    inverse = np.linalg.inv(lower)
    root = symmetric_root(inverse @ (turned / scale) @ inverse.T)
    return root @ root

"""Random features with any convex loss: three overlaps and their three conjugates."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, ScalarLike

from giantstep.language.losses import Loss
from giantstep.numerics.quadrature import CUTOFF
from giantstep.numerics.solve import implicit_fixed_point
from giantstep.theory.convex.fits import expected_fit_nodes, expected_missed_margins
from giantstep.theory.convex.labels import (
    FieldLaw,
    RealLabels,
    StudentLabels,
    student_field_law,
    student_real_field_law,
)

#: Nodes for the Marchenko-Pastur law; exact to 1e-14 from 50 on.
SPECTRUM_ORDER = 60
#: Plain iteration settles for the logistic loss; the hinge needs half steps, and so may others.
DAMPING, OTHER_DAMPING = {"logistic": 1.0}, 0.5
_SIGNS = np.array([1.0, -1.0])


class Features(NamedTuple):
    """Gaussian equivalent of the features: m1 = mu_1^2, ms = mu_*^2, and the constant mode.

    The constant is a mode of eigenvalue ``constant``/d: infinite when the activation has a mean,
    so that the intercept is free, and 0 when the features are centred.
    """

    linear: ScalarLike
    nonlinear: ScalarLike
    constant: ScalarLike


class ConvexOverlaps(NamedTuple):
    """The student's field w + b: susceptibility V, variance Q, overlaps M = E[h w], mean b."""

    v: Float[Array, ""]
    q: Float[Array, ""]
    m: Float[Array, " directions"]
    b: Float[Array, ""]


class ConvexRisk(NamedTuple):
    """What the minimum of the loss reaches, and how well the fixed point was solved."""

    overlaps: ConvexOverlaps
    test_error: Float[Array, ""]
    train_loss: Float[Array, ""]
    norm: Float[Array, ""]
    residual: Float[Array, ""]
    iterations: Array
    converged: Array


class _Channel(NamedTuple):
    """Averages over a sample: E[-f'], E[f^2], the pull towards the teacher, E[f], and errors."""

    stiffness: Any
    energy: Any
    pull: Any
    force: Any
    test_error: Any
    train_loss: Any


@functools.partial(jax.jit, static_argnames="loss")
def convex_risk(
    samples_ratio: ScalarLike,
    width_ratio: ScalarLike,
    ridge: ScalarLike,
    features: Features,
    teacher: StudentLabels | RealLabels,
    loss: Loss,
) -> ConvexRisk:
    r"""Errors of random features that minimise :math:`\sum_i \ell(y_i, f(x_i)) + (\lambda/2)|a|^2`.

    Averages :math:`\langle\cdot\rangle` are over the spectrum t of :math:`W^\top W`
    (Marchenko-Pastur of ratio psi), with :math:`\omega = \mu_*^2 + \mu_1^2 t`,
    :math:`D_t = \lambda + \hat V \omega`, :math:`D_0 = \lambda + \hat V \mu_*^2`:

    .. math::

        V &= \frac{\mu_*^2}{D_0} + \frac1\psi \Big\langle \frac{t \lambda \mu_1^2}{D_t D_0}
            \Big\rangle, \qquad M = \hat m \Big\langle \frac{\mu_1^2 t}{D_t} \Big\rangle, \\
        Q &= \hat q \Big\{ \frac{\mu_*^4}{D_0^2} + \frac1\psi \Big\langle
            \frac{t \lambda \mu_1^2}{D_t D_0}
            \Big(\frac{\omega}{D_t} + \frac{\mu_*^2}{D_0}\Big) \Big\rangle \Big\}
            + |\hat m|^2 \Big\langle \frac{\mu_1^2 t\, \omega}{D_t^2} \Big\rangle, \\
        \hat V &= \tfrac np E[-f'], \quad \hat q = \tfrac np E[f^2], \quad
            \hat m = \tfrac np\, (I - M M^\top/Q)^{-1} E[f\,(h - M w/Q)], \\
        f(y, w) &= \big(\mathrm{prox}_{V \ell(y,\cdot)}(w + b) - w - b\big)/V .

    The mean b of the student's field is free (E[f] = 0) when the features have a mean, 0 when they
    are centred, and in between for Gaussian rows: ``features.constant``.

    Symbols: ``samples_ratio`` n/d, ``width_ratio`` p/d, ``ridge`` lambda, ``features`` (mu_1^2,
    mu_*^2, constant), ``teacher`` the labels, ``loss`` a convex function of the
    output. ``test_error`` is the 0-1 error where labels are -1 and 1 and the
    loss is one of y f, and the excess risk otherwise; ``norm`` is
    :math:`|a|^2` per sample. Differentiable in every number; call it in float64.

    Assumes: n, p, d large in proportion, Gaussian inputs, labels that depend on a few directions.
    Status: replica
    References: Gerace et al. 2020, arXiv:2002.09339; Loureiro et al. 2021, arXiv:2102.08127
        (theorem for convex losses on Gaussian covariates).

    >>> from giantstep.language.losses import loss_from_text
    >>> from giantstep.numerics.float64 import float64
    >>> from giantstep.theory.convex.labels import student_label_lines
    >>> logistic, features = loss_from_text("logistic"), Features(0.366879, 0.027415, 0.0)
    >>> with float64():
    ...     labels = student_label_lines(lambda h: h[..., 0], 1, 0, ((0.0,),))
    ...     risk = convex_risk(3.0, 2.0, 0.1, features, labels, logistic)
    >>> round(float(risk.test_error), 5), bool(risk.converged)
    (0.20475, True)
    """
    alpha, psi, lam = (jnp.asarray(x, float) for x in (samples_ratio, width_ratio, ridge))
    theta = (alpha, psi, lam, jax.tree.map(lambda x: jnp.asarray(x, float), (features, teacher)))
    directions = len(teacher.learnable)
    one, zero = jnp.asarray(1.0), jnp.asarray(0.0)
    start = ConvexOverlaps(one, 0.5 * one, jnp.full(directions, 0.3 / directions**0.5), zero)
    found = implicit_fixed_point(
        lambda state, t: _convex_risk_update(loss, state[0], t),
        theta,
        (start, (zero, zero, zero)),
        damping=DAMPING.get(loss.text, OTHER_DAMPING),
        tolerance=1e-12,
    )
    overlaps, errors = found.value
    return ConvexRisk(overlaps, *errors, found.residual, found.iterations, found.converged)


@functools.partial(jax.jit, static_argnames="loss")
def free_mean_errors(
    samples: ScalarLike,
    tether: ScalarLike,
    overlaps: ConvexOverlaps,
    teacher: StudentLabels | RealLabels,
    loss: Loss,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    r"""How much the free mean b differs between runs of n samples, and what the test error gains.

    .. math:: s^2 = \frac{n\, E[f^2]}{(n E[-f'] + \lambda/\mu_0^2)^2}, \qquad
        \tfrac12 (\epsilon(b + s) + \epsilon(b - s)) - \epsilon(b)

    since the runs solve :math:`\sum_i f_i = \lambda b/\mu_0^2`. A strong ridge makes fields small
    beside s; inside the margin the hinge is straight, and s falls with no power of n.

    Symbols: ``samples`` n, ``tether`` :math:`\lambda/\mu_0^2` of the mean mu_0 of the activation,
    ``overlaps`` those of :func:`convex_risk`, with its f; :math:`\epsilon(b)` the test error.

    Assumes: as :func:`convex_risk`, and that the mean is free.
    Status: heuristic
    References: Loureiro et al. 2021, arXiv:2102.08127 (the equations).

    >>> from giantstep.language.losses import loss_from_text
    >>> from giantstep.numerics.float64 import float64
    >>> from giantstep.theory.convex.labels import student_label_lines
    >>> with float64():
    ...     labels = student_label_lines(lambda h: h[..., 0], 1, 0, ((0.0,),))
    ...     x = ConvexOverlaps(*map(jnp.asarray, (0.1, 0.2, [0.3], 0.0)))
    ...     spread, _ = free_mean_errors(100.0, 0.0, x, labels, loss_from_text("logistic"))
    >>> round(float(spread), 3)
    0.19
    """
    channel = _channel(loss, overlaps, teacher)
    spread = jnp.sqrt(samples * channel.energy) / (samples * channel.stiffness + tether)
    moved = [
        _channel(loss, overlaps._replace(b=overlaps.b + shift), teacher).test_error
        for shift in (spread, -spread)
    ]
    return spread, (moved[0] + moved[1]) / 2 - channel.test_error


def _convex_risk_update(
    loss: Loss, x: ConvexOverlaps, theta: tuple[Any, ...]
) -> tuple[ConvexOverlaps, tuple[Any, Any, Any]]:
    """One round of the system, and the errors at the point where it starts."""
    alpha, psi, lam, (features, teacher) = theta
    m1, ms, constant = features
    channel = _channel(loss, x, teacher)
    vh, qh, mh = (alpha / psi * part for part in channel[:3])

    angle = np.arange(1, SPECTRUM_ORDER + 1) * np.pi / (SPECTRUM_ORDER + 1)
    t = 1 + psi + 2 * jnp.sqrt(psi) * np.cos(angle)
    law = 2 * psi * np.sin(angle) ** 2 / ((SPECTRUM_ORDER + 1) * t)
    omega = ms + m1 * t
    d0, dt = lam + vh * ms, lam + vh * omega
    shape = t * lam * m1 / (dt * d0)
    # Traces over the features of the resolvent G = 1/(lambda + V^ Omega): G, G Omega G, G^2.
    g = 1 / d0 - vh * jnp.sum(law * m1 * t / (dt * d0)) / psi
    gwg = ms / d0**2 + jnp.sum(law * m1 * t * (lam**2 - vh**2 * ms * omega) / (dt * d0) ** 2) / psi
    gg = 1 / d0**2 + jnp.sum(law * (d0**2 - dt**2) / (dt * d0) ** 2) / psi

    # A Newton step for b = alpha e0 g E[f], and the energy that this mode adds to the fields.
    free = jnp.isinf(constant)
    compliance, tether = alpha * g * jnp.where(free, 1.0, constant), jnp.where(free, 0.0, 1.0)
    slack = compliance * channel.force - tether * x.b
    b = x.b + slack / (compliance * channel.stiffness + tether)
    constant_energy = jnp.where(free, 0.0, constant) * (alpha * channel.force) ** 2 / psi
    v = ms / d0 + jnp.sum(law * shape) / psi
    m = mh * jnp.sum(law * m1 * t / dt)
    strength = jnp.sum(mh**2)
    q = (
        qh * (ms**2 / d0**2 + jnp.sum(law * shape * (omega / dt + ms / d0)) / psi)
        + strength * jnp.sum(law * m1 * t * omega / dt**2)
        + constant_energy * gwg
    )
    size = qh * gwg + strength * jnp.sum(law * m1 * t / dt**2) + constant_energy * gg
    errors = channel.test_error, channel.train_loss, size * psi / alpha
    return ConvexOverlaps(v, q, m, b), errors


def _convex_overlap_pull(x: ConvexOverlaps, law: FieldLaw, force: Any, fields: Any) -> Any:
    """(I - M M^T/Q)^-1 E[f (h - M w/Q)]; ``force`` carries the weights of the fields."""
    moved = jnp.einsum("yf,yfr->r", force, law.first_moment)
    moved = moved - x.m * jnp.sum(force * law.density * fields) / x.q
    # The inverse by Sherman and Morrison; a label-noise coordinate has no overlap.
    return moved + x.m * (x.m @ moved) / (x.q - x.m @ x.m)


def _channel(loss: Loss, x: ConvexOverlaps, labels: Any) -> _Channel:
    binary = isinstance(labels, StudentLabels)
    if binary:
        y, kinks = jnp.asarray(_SIGNS), jnp.asarray(loss.kinks(_SIGNS))
        middle, reach = x.b * jnp.ones_like(y), CUTOFF * jnp.sqrt(x.q)
    else:
        y, kinks = labels.values, labels.kinks
        middle, reach = x.b + labels.latent @ x.m, CUTOFF * jnp.sqrt(x.q - x.m @ x.m)
    fit = expected_fit_nodes(loss, y, kinks, x.v, middle, reach)
    fields = fit.fields - x.b
    if binary:
        law = student_field_law(labels, _SIGNS, fields, x.q, x.m)
        known = jnp.sum(fit.weights[:, :, None] * law.first_moment * y[:, None, None], axis=(0, 1))
        mean, power = jnp.sum(fit.weights * law.density * y[:, None]), 1.0
    else:
        law = student_real_field_law(labels, fields, x.q, x.m)
        known = (labels.weights * labels.clean) @ labels.latent
        mean, power = labels.weights @ labels.clean, labels.clean_power
    test_error = power - 2 * (known @ x.m + mean * x.b) + x.q + x.b**2
    if binary and loss.of_margin:
        # Where the field has the wrong sign, by a rule of its own.
        u, missed = expected_missed_margins(x.q, x.b, _SIGNS)
        wrong = student_field_law(labels, _SIGNS, _SIGNS[:, None] * u - x.b, x.q, x.m).density
        test_error = jnp.sum(missed * wrong)
    mass, force = fit.weights * law.density, fit.weights * fit.force
    return _Channel(
        stiffness=jnp.sum(mass * fit.stiffness),
        energy=jnp.sum(mass * fit.force**2),
        pull=labels.learnable * _convex_overlap_pull(x, law, force, fields),
        force=jnp.sum(force * law.density),
        test_error=test_error,
        train_loss=jnp.sum(mass * fit.loss),
    )

"""Targets whose threshold is known by other means: closed forms and one-dimensional integrals.

The conditional law of h given y is written down by hand for each, so nothing here shares code with
what is tested. ``b`` stands for E[h1 h2 | y] and ``a`` for E[h1^2 | y] - 1.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy.special import k0, k1, ndtr, roots_legendre


def rule(low: float, high: float, count: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on an interval."""
    unit, mass = roots_legendre(count)
    return low + (high - low) * (unit + 1) / 2, mass * (high - low) / 2


def bell(x: np.ndarray) -> np.ndarray:
    return np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


@functools.cache
def product_of_two() -> float:
    """y = h1 h2 has density K0/pi, a = y K1/K0 - 1 and b = y; both parts count."""
    y, w = rule(0.0, 7.0)
    y, w = y**3, 3 * y**2 * w
    return math.pi / (2 * float(w @ (y**2 * k1(y) ** 2 / k0(y))))


@functools.cache
def size_of_a_product() -> float:
    """|h1 h2|: the sign is gone, so b = 0, and E[a^2] = E[a^2 + b^2] - E[y^2]."""
    return 1 / (1 / product_of_two() - 1)


@functools.cache
def product_of_three() -> float:
    """E[h1^2 | h1 h2 h3 = y] by integrals over t = h1: the other two have density K0/pi."""
    t, wt = rule(-9.0, 2.3, 1500)
    t, wt = np.exp(t), np.exp(t) * wt
    y, wy = rule(-24.0, 4.6, 1500)
    y, wy = np.exp(y), np.exp(y) * wy
    joint = bell(t) * k0(y[:, None] / t) / t * wt
    density, second = joint.sum(axis=1), joint @ t**2
    total = float(wy @ density)
    kept = density > 1e-250
    share = wy[kept] / total
    return 1 / float(share @ (second[kept] ** 2 / density[kept]) - 1)


@functools.cache
def smaller_of_two() -> float:
    """min of |h1|, |h2|: one of them is y, the other one lies beyond it."""
    y, w = rule(0.0, 9.0)
    density = 8 * bell(y) * ndtr(-y)
    other = 1 + 2 * y * bell(y) / (2 * ndtr(-y))
    return 1 / float(w @ (density * ((y**2 + other) / 2 - 1) ** 2))


@functools.cache
def sum_of_sizes() -> float:
    """|h1| + |h2|: given y, h1 is y/2 plus a Gaussian of variance 1/2 cut at y/2."""
    y, w = rule(1e-6, 13.0, 1200)
    u, v = rule(0.0, 1.0, 400)
    at = y[:, None] * u
    joint = 4 * bell(at) * bell(y[:, None] - at) * y[:, None] * v
    density = joint.sum(axis=1)
    # The signs are independent, so b = 0.
    a = (joint * at**2).sum(axis=1) / density - 1
    return 1 / float(w @ (density * a**2))


@functools.cache
def noisy_product(variance: float) -> float:
    """h1 h2 + noise: given h1 the label is Gaussian of variance h1^2 + noise."""
    h, w = rule(-9.0, 9.0, 3000)
    y, wy = rule(-40.0, 40.0, 2000)
    spread = h**2 + variance
    joint = np.exp(-(y[:, None] ** 2) / (2 * spread)) / np.sqrt(2 * np.pi * spread) * bell(h) * w
    density = joint.sum(axis=1)
    kept = density > 1e-280
    a = (joint @ h**2)[kept] / density[kept] - 1
    b = (y * (joint @ (h**2 / spread)))[kept] / density[kept]
    return 1 / float((wy * density)[kept] @ (a**2 + b**2))


@functools.cache
def noisy_circle(variance: float) -> float:
    """h1^2 + h2^2 + noise: G = (E[u | y]/2 - 1) I with u exponential of mean 2."""
    u, w = rule(0.0, 80.0, 4000)
    y, wy = rule(-8.0, 80.0, 2500)
    joint = np.exp(-((y[:, None] - u) ** 2) / (2 * variance)) * w * np.exp(-u / 2) / 2
    joint /= math.sqrt(2 * math.pi * variance)
    density = joint.sum(axis=1)
    kept = density > 1e-280
    a = (joint @ u)[kept] / density[kept] / 2 - 1
    return 1 / float((wy * density)[kept] @ a**2)


@functools.cache
def sine_of_a_product() -> float:
    """sin(h1 h2): preimages u_k of equal slope, each as likely as K0(|u_k|)."""
    t, w = rule(0.0, 1.0, 2000)
    # Labels by the angle; crowded towards u = 0, where K0 has its logarithm.
    angle, w = math.pi * t**3, 3 * math.pi * t**2 * w
    angle, w = np.concatenate([-angle, angle]) / 2, np.concatenate([w, w]) / 2
    k = np.arange(-12, 13)
    roots = np.stack([angle[:, None] + 2 * np.pi * k, np.pi - angle[:, None] + 2 * np.pi * k])
    roots = np.moveaxis(roots, 0, 1).reshape(len(angle), -1)
    size = np.abs(roots)
    likely = k0(size)
    total = likely.sum(axis=1)
    a = (size * k1(size)).sum(axis=1) / total - 1
    b = (roots * likely).sum(axis=1) / total
    density = total / math.pi
    return 1 / float(w @ (density * (a**2 + b**2)) / float(w @ density))


def signed_direction() -> float:
    """h1 sign(h2): G = [[y^2 - 1, c y], [c y, 0]], c = sqrt(2/pi), y standard normal."""
    c = 2 / math.pi
    # On (M11, M22): M11 -> 2 M11 + c M22, M22 -> c M11; the off-diagonal part is smaller.
    return 1 / float(np.linalg.eigvalsh(np.array([[2.0, c], [c, 0.0]]))[-1])


def disc(radius_squared: float) -> float:
    """(h1^2 + h2^2 < t): alpha_c = p (1 - p)/e^2, e the mean of u/2 - 1 on one class, times p."""
    t = radius_squared
    outside = math.exp(-t / 2)
    mean = outside * (t / 2)
    return outside * (1 - outside) / mean**2


def window(edge: float) -> float:
    """(|h1| < t): p (1 - p)/(2 t phi(t))^2."""
    p = math.erf(edge / math.sqrt(2))
    return p * (1 - p) / (2 * edge * float(bell(np.array(edge)))) ** 2


@functools.cache
def known() -> list[tuple[str, float, float]]:
    """Text, noise variance, threshold."""
    return [
        # One direction, classes, and one moving direction: exact routes.
        ("h1**2", 0.0, 0.5),
        ("exp(-abs(h1))", 0.0, 0.5),
        ("h1**6", 0.0, 0.5),
        ("abs(h1 - h2)", 0.0, 0.5),
        ("tanh((h1 + 2*h2)**2)", 0.0, 0.5),
        ("cos(h1/3)", 0.0, 0.5),
        ("tanh(|h1|)", 0.0, 0.5),
        ("(|h1| < 1)", 0.0, window(1.0)),
        ("(|h1| < 0.7)", 0.0, window(0.7)),
        ("sign(|h1| - 1.7)", 0.0, window(1.7)),
        ("sign(h1*h2)", 0.0, math.pi**2 / 4),
        ("step(h1*h2)", 0.0, math.pi**2 / 4),
        ("tanh(sign(h1*h2))", 0.0, math.pi**2 / 4),
        ("(h1**2 + h2**2 < 1)", 0.0, disc(1.0)),
        ("sign(h1**2 + h2**2 - 2)", 0.0, disc(2.0)),
        ("step(3 - h1**2 - h2**2)", 0.0, disc(3.0)),
        ("h1**2*sign(h2*h3)", 0.0, 0.5),
        ("h1*sign(h2)", 0.0, signed_direction()),
        ("tanh(h1)*sign(h2)", 0.0, signed_direction()),
        # Two moving directions: random lines.
        ("h1*h2", 0.0, product_of_two()),
        ("tanh(h1*h2)", 0.0, product_of_two()),
        ("tanh(9*h1*h2)", 0.0, product_of_two()),
        ("h1**3*h2**3", 0.0, product_of_two()),
        ("erf(h1*h2) + erf(h1*h2)**3", 0.0, product_of_two()),
        ("h1**2 - h2**2", 0.0, product_of_two()),
        ("h1*h2 + 0.3*h1**2 - 0.3*h2**2", 0.0, product_of_two()),
        ("sin(tanh(h1*h2))", 0.0, product_of_two()),
        ("|h1*h2|", 0.0, size_of_a_product()),
        ("log(|h1*h2|)", 0.0, size_of_a_product()),
        ("h1*z1", 0.0, size_of_a_product()),
        ("h1**2 + h2**2", 0.0, 1.0),
        ("exp(-h1**2 - h2**2)", 0.0, 1.0),
        ("sigmoid(h1**2 + h2**2)", 0.0, 1.0),
        ("h1**2 + sqrt(0.5)*z1", 0.0, 0.5779870614),
        ("min(|h1|, |h2|)", 0.0, smaller_of_two()),
        ("|h1| + |h2|", 0.0, sum_of_sizes()),
        ("sin(h1*h2)", 0.0, sine_of_a_product()),
        # Three axes.
        ("h1*h2*h3", 0.0, product_of_three()),
        ("h1*h2*sign(h3)", 0.0, size_of_a_product()),
        ("h1**2 + h2**2 + h3**2", 0.0, 1.5),
        ("h1*h2", 0.3, noisy_product(0.3)),
        ("h1**2 + h2**2", 0.5, noisy_circle(0.5)),
    ]

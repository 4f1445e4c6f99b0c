"""What is known of mean-field Langevin dynamics on anisotropic parities: rates, no exact curve."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.answer import Prediction, Status
from giantstep.bibliography import cite
from giantstep.errors import NoTheory
from giantstep.language.inputs import Hypercube, checked_input_law
from giantstep.language.problem import Problem
from giantstep.settings.langevin import Langevin

REFERENCES = cite("suzuki-2023", "2306.07221")


def effective_dimension(dim: int, boost: float, order: int) -> float:
    r"""Trace over largest eigenvalue of the covariance of inputs on the hypercube.

    .. math:: d_{\mathrm{eff}} = \frac{\mathrm{tr}\,\Sigma}{|\Sigma|}
        = k + (d - k)\, d^{-\alpha} = \Theta(d^{1-\alpha})

    Symbols: k is ``order``, the coordinates of the parity; d^alpha is ``boost``.
    Assumes: a boost of at least one.
    Status: theorem.
    References: Suzuki et al. 2023, Advances in Neural Information Processing Systems 36.

    >>> effective_dimension(100, 10.0, 2)
    11.8
    """
    return order + (dim - order) / boost


def stationary_variance(decay: float, temperature: float = 0.0, step_size: float = 0.0) -> float:
    r"""Variance of each coordinate of a particle that no loss acts on.

    .. math:: X \sim N\Big(0, \frac{1}{2\lambda_1}\Big), \qquad
        \text{in steps of length } \eta:\ \frac{1}{2\lambda_1 (1 - \eta\lambda\lambda_1)}

    Symbols: lambda_1 is ``decay``, lambda ``temperature``, eta ``step_size``. The second follows
    from v = (1 - 2 eta lambda lambda_1)^2 v + 2 lambda eta.
    Assumes: no loss; a fixed temperature.
    Status: theorem.
    References: Suzuki et al. 2023, arXiv:2306.07221.

    >>> stationary_variance(0.1), round(stationary_variance(0.1, 0.1, 1.0), 4)
    (5.0, 5.0505)
    """
    return 1 / (2 * decay * (1 - step_size * temperature * decay))


def free_variance(
    temperatures: Float[np.ndarray, " steps"], decay: float, step_size: float
) -> float:
    r"""Variance of a coordinate after annealed steps from N(0, 1), where no loss acts on it.

    .. math:: v_{t+1} = (1 - 2\eta\lambda_t\lambda_1)^2 v_t + 2\lambda_t\eta, \qquad v_0 = 1

    Symbols: lambda_t is ``temperatures``, lambda_1 ``decay``, eta ``step_size``.
    Assumes: no loss.
    Status: theorem.
    References: Suzuki et al. 2023, arXiv:2306.07221.

    >>> round(free_variance(np.full(2000, 0.1), 0.1, 1.0), 4)
    5.0505
    """
    variance = 1.0
    for temperature in temperatures.tolist():
        kept = 1 - 2 * step_size * temperature * decay
        variance = kept**2 * variance + 2 * temperature * step_size
    return variance


def predict(problem: Problem, settings: Langevin) -> Prediction:
    """The rates at which mean-field Langevin dynamics learns a parity, and its stationary law.

    Metrics: ``sample_exponent``, the power of d in the samples that are needed,
    n = Theta(d^(1-alpha)), whatever the number of coordinates; ``log_time_exponent``, that in the
    logarithm of the width and of the time; ``stationary_variance``; ``effective_dimension``;
    ``particle_variance``, that of weights which the loss leaves alone, as it nearly does those
    beside the parity. There is no exact curve of the accuracy.

    Assumes: a parity on the hypercube, whose boost is d^alpha with alpha from 0 to 1.
    Status: theorem for the rates; heuristic for the variance under a loss.
    References: Suzuki et al. 2023, Advances in Neural Information Processing Systems 36;
        Suzuki et al. 2023, arXiv:2306.07221.

    >>> law = predict(Problem("sign(h1*h2)", inputs="hypercube:boost=d^0.5"), Langevin(dim=100))
    >>> law.metrics["sample_exponent"], law.metrics["effective_dimension"]
    (0.5, 11.8)
    """
    why = "the rates are those of parities there; simulate takes every law"
    what = "Langevin dynamics is predicted"
    law = checked_input_law(problem.inputs, (Hypercube,), what, NoTheory, why)
    alpha = law.boost.power
    if not 0 <= alpha <= 1:
        raise NoTheory(f"inputs = {law}: the rates are known for a boost of d^0 to d^1")
    ladder = np.geomspace(settings.temperature, settings.last_temperature, settings.steps)
    metrics = {
        "sample_exponent": 1 - alpha,
        "log_time_exponent": 1 - alpha,
        "stationary_variance": stationary_variance(settings.decay),
        "particle_variance": free_variance(ladder, settings.decay, settings.step_size),
    }
    if settings.dim is not None:
        boost = law.boost.at(settings.dim)
        metrics["effective_dimension"] = effective_dimension(
            settings.dim, boost, problem.target.rank
        )
    note = "rates alone: no exact curve of the accuracy is known, use simulate for that"
    statuses: dict[str, Status] = dict.fromkeys(metrics, "theorem")
    statuses["particle_variance"] = "heuristic"
    return Prediction.of(settings, metrics, statuses, REFERENCES, (note,))

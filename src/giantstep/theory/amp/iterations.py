"""How long message passing takes, and where it may stay behind: fixed points that just vanished."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit

from giantstep.settings.amp import Amp
from giantstep.theory.amp.averages.overlaps import EDGE
from giantstep.theory.amp.state_evolution import FixedOverlap, fixed_point_curve

#: Dimension for which iterations are counted where none is given: they grow with its logarithm.
_DIM = 1000
#: Overlap that a spectral start is taken to have.
_SPECTRAL = 0.05
#: From this share of the way on only the rate at the fixed point matters.
_LAST_PART = 0.02
_GRID = 4000
#: The place of a fixed point moves by about 1/sqrt(d) from sample to sample, relatively.
_WIDTHS = 3.0


class Vanished(NamedTuple):
    """A fixed point that exists up to ``samples_ratio``, with overlap m I."""

    samples_ratio: float
    overlap: float


def expected_iterations(found: FixedOverlap, settings: Amp) -> float:
    r"""Iterations that message passing needs from its start to its fixed point.

    .. math::
        N = \frac{1}{1-c} \int \frac{d \log m}{\log(F(m)/m)}
        + \frac{\log(\delta/\epsilon^2)}{-\log(c + (1-c) F'(m^*))}

    The way up to a distance delta from the fixed point, then its geometric approach; a random start
    is followed by one kick, and a second approach. Where the overlap is a matrix the first part is
    the time of the flow dM/dt = F(M) - M.

    Symbols: F the map of state evolution, c the damping, epsilon ``settings.tolerance``. Where an
    estimate of zero would stay zero the start has m = 1/d, d being ``settings.dim`` or 1000.

    Assumes: F hardly changes in one iteration where most of them are spent.
    Status: heuristic.
    References: Troiani et al. 2024, arXiv:2405.15480.

    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.amp.state_evolution import state_evolution
    >>> found = state_evolution(Problem.of("h1", noise=0.25), 1.0)
    >>> 10 < expected_iterations(found, Amp(samples="1d")) < 60
    True
    """
    damping = settings.damping_for(len(found.overlap))
    passage, distance, rate = _expected_way_up(found, settings)
    slower = min(damping + (1 - damping) * max(rate, 0.0), 1 - 1e-9)
    per_decade = np.log(10) / -np.log(max(slower, 1e-3))
    decades = max(np.log10(max(distance, 1e-300) / settings.tolerance**2), 0.0)
    if settings.start == "random":
        decades += max(2 * np.log10(settings.start_size / settings.tolerance), 0.0)
    return float(passage / (1 - damping) + per_decade * decades)


def vanished_fixed_point(found: FixedOverlap) -> Vanished | None:
    r"""The fixed point below this one that existed at fewer samples, if the way up passes one.

    .. math:: \alpha_s = \max_{m < m^*} \alpha(m), \qquad \alpha(m) = \frac{m}{(1-m) f(m)}

    Symbols: m* ``found.overlap``.

    Assumes: an overlap that is a multiple of I, reached from an uninformed start.
    Status: theorem.
    References: Barbier et al. 2017, arXiv:1708.03395.

    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.amp.state_evolution import state_evolution
    >>> last = vanished_fixed_point(state_evolution(Problem.of("abs(h1)"), 1.14))
    >>> round(last.samples_ratio, 3), round(last.overlap, 2)
    (1.128, 0.85)
    """
    if found.rest is not None or found.start == "informed":
        return None
    curve, reached = fixed_point_curve(found.population), float(found.overlap[0, 0])
    peaks = [k for k in curve.peaks if k > 0 and curve.overlaps[k] < reached]
    if not peaks:
        return None
    last = max(peaks, key=lambda k: float(curve.samples_ratios[k]))
    return Vanished(float(curve.samples_ratios[last]), float(curve.overlaps[last]))


def state_evolution_remarks(found: FixedOverlap, settings: Amp, iterations: float) -> list[str]:
    """What a reader must know before laying runs of finite size over this fixed point.

    Assumes: as :func:`expected_iterations` and :func:`vanished_fixed_point`.
    Status: heuristic.
    References: Troiani et al. 2024, arXiv:2405.15480.

    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.amp.state_evolution import state_evolution
    >>> found = state_evolution(Problem.of("h1", noise=0.25), 1.0)
    >>> state_evolution_remarks(found, Amp(samples="1d", iterations=30), 45.0)
    ['state evolution needs about 45 iterations to settle, and iterations = 30']
    """
    said = []
    if iterations > settings.iterations:
        said.append(
            f"state evolution needs about {iterations:.0f} iterations to settle, and "
            f"iterations = {settings.iterations}"
        )
    last = vanished_fixed_point(found)
    width = _WIDTHS / np.sqrt(settings.dim or _DIM)
    if last is not None and found.samples_ratio / last.samples_ratio - 1 < width:
        said.append(
            f"n = {found.samples_ratio:.4g} d is just above {last.samples_ratio:.4g} d, where a "
            f"fixed point with overlap_squared = {last.overlap:.2f} vanishes: at finite d many "
            f"runs stay close to it, however long they are"
        )
    return said


def _expected_way_up(found: FixedOverlap, settings: Amp) -> tuple[float, float, float]:
    """Iterations up to a small distance from the fixed point, that distance, and the rate there."""
    if found.rest is not None:
        rest = found.rest
        return rest.passage, max(rest.distance, settings.start_size**2), rest.rate
    from scipy.interpolate import CubicSpline

    curve, blind = fixed_point_curve(found.population), found.population.is_blind
    log_gain = CubicSpline(logit(curve.overlaps), np.log(found.samples_ratio * curve.fisher))

    def image(m: np.ndarray) -> Any:
        gain = np.exp(log_gain(logit(np.clip(m, curve.overlaps[0], curve.overlaps[-1]))))
        return gain / (1 + gain)

    end = float(np.clip(found.overlap[0, 0], curve.overlaps[0], 1 - EDGE))
    shift = 1e-4 * end * (1 - end)
    rate = float((image(np.array(end)) - image(np.array(end - shift))) / shift)
    begin = {"informed": settings.start_overlap, "spectral": _SPECTRAL}.get(
        settings.start, 1 / (settings.dim or _DIM) if blind else float(image(np.array(EDGE)))
    )
    if end <= 2 * curve.overlaps[0] or (blind and settings.start == "zero"):
        return 0.0, settings.start_size**2, rate
    near = end - _LAST_PART * (end - begin)
    m = np.exp(np.linspace(np.log(begin), np.log(near), _GRID))
    speed = np.log(image(m) / m) * np.sign(end - begin)
    passage = float(np.abs(np.log(near / begin)) * np.mean(1 / np.maximum(speed, 1e-9)))
    return passage, abs(end - near), rate

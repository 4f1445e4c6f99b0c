"""How many samples each algorithm needs, as a scaling with the dimension d."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from giantstep.answer import Status
from giantstep.theory.learnability.staircase import Staircase
from giantstep.theory.learnability.thresholds import Threshold

ABBE = "Abbe et al. 2023, arXiv:2302.11055"
BEN_AROUS = "Ben-Arous et al. 2020, arXiv:2003.10409"
DAMIAN = "Damian et al. 2024, arXiv:2403.05529"
DANDI = "Dandi et al. 2023, arXiv:2305.18270"
TROIANI = "Troiani et al. 2024, arXiv:2405.15480"
#: Numbers of steps whose batches are told.
SEVERAL = (2, 3, 4)


def one_pass_samples(leap: int) -> str:
    r"""Samples that one-pass SGD needs for a leap.

    .. math:: n \sim d \ (\ell = 1), \quad d \log d \ (\ell = 2), \quad d^{\ell-1} \ (\ell > 2)

    Symbols: :math:`\ell` ``leap``.

    Assumes: isotropic Gaussian inputs, online SGD with a batch of one, tuned step size.
    Status: theorem for one direction; conjecture for several.
    References: Ben-Arous et al. 2020, arXiv:2003.10409; Abbe et al. 2023, arXiv:2302.11055.

    >>> one_pass_samples(2), one_pass_samples(4)
    ('d log d', 'd^3')
    """
    return {1: "d", 2: "d log d"}.get(leap, f"d^{leap - 1}")


def giant_step_samples(leap: int) -> str:
    r"""Samples of one giant step on a fresh batch that shows directions at a leap.

    .. math:: n \sim d^{\ell}

    Symbols: :math:`\ell` ``leap``.

    Assumes: isotropic Gaussian inputs, step size of order d^{(l-1)/2} in units of 1 for leap 1.
    Status: theorem for one step.
    References: Dandi et al. 2023, arXiv:2305.18270.

    >>> giant_step_samples(1), giant_step_samples(3)
    ('d', 'd^3')
    """
    return "d" if leap == 1 else f"d^{leap}"


def small_batch_power(leap: int, steps: int) -> float:
    r"""The least kappa for which T giant steps on fresh batches of d^kappa see a leap.

    .. math:: \kappa_T = 1 + (l-2)\frac{(l-1)^T}{(l-1)^T - 1}, \qquad
        \kappa_T = 1 + \frac1T \ (l = 2), \qquad \kappa_T = 1 \ (l = 1)

    Each step turns an overlap :math:`m` into :math:`A m^{l-1}` with :math:`A\sim\sqrt{n/d}`, so
    that powers of d follow :math:`e' = (l-1)e + (\kappa-1)/2` from :math:`e = -1/2`. One step
    needs :math:`d^l`; many need what one pass of SGD does, :math:`d^{l-1}`.

    Symbols: l ``leap``, T ``steps``.

    Assumes: isotropic Gaussian inputs, fresh batches, steps of order :math:`\sqrt{n/d}`, and the
    correlation loss, or an output that stays small beside the label.
    Status: theorem for one step; heuristic for more.
    References: Dandi et al. 2023, arXiv:2305.18270 (one step).

    >>> [round(small_batch_power(2, steps), 4) for steps in (1, 2, 3)], small_batch_power(3, 1)
    ([2.0, 1.5, 1.3333], 3.0)
    """
    if leap <= 2:
        return 1 + (leap - 1) / steps
    grown = float(leap - 1) ** steps
    return 1 + (leap - 2) * grown / (grown - 1)


def small_batch_samples(leap: int) -> str:
    """The batches from which two, three and four giant steps see a leap, as powers of d."""
    powers = [f"d^{small_batch_power(leap, steps):.3g}" for steps in SEVERAL]
    return f"{', '.join(powers)} in each of {', '.join(map(str, SEVERAL))} steps"


def correlation_samples(leap: int) -> str:
    r"""Samples below which no algorithm finds a leap from correlations with the label alone.

    .. math:: n \sim d^{\max(1, \ell/2)}

    Symbols: :math:`\ell` ``leap``.

    Assumes: isotropic Gaussian inputs; correlational statistical queries (CSQ), whose precision n
    samples allow.
    Status: theorem for one leap; smoothed gradient descent attains it for one direction.
    References: Abbe et al. 2023, arXiv:2302.11055.

    >>> correlation_samples(1), correlation_samples(3)
    ('d', 'd^1.5')
    """
    return "d" if leap <= 2 else f"d^{leap / 2:g}"


@dataclass(frozen=True)
class Complexity:
    """How many samples one way to learn needs for all directions that it sees."""

    algorithm: str
    samples: str
    status: Status
    reference: str


def sample_complexities(
    staircase: Staircase,
    grand: Staircase,
    thresholds: Sequence[Threshold],
    dimension: int,
) -> dict[str, Complexity]:
    r"""Samples that any use of correlations, SGD, giant steps and message passing need.

    .. math:: n \sim d^{k^*/2} \ (k^* > 2), \qquad n = \alpha_c d \ (k^* = 2), \qquad
        n = \alpha d,\ \alpha > 0 \ (k^* = 1)

    for message passing, and the laws of :func:`correlation_samples`, :func:`one_pass_samples`,
    :func:`giant_step_samples`.

    Symbols: k* the ``grand`` staircase's leaps; ``dimension`` of the used subspace.

    Assumes: isotropic Gaussian inputs; a direction that is not reached within the degree of the
    staircase is said to be missed.
    Status: conjecture where several directions are learned one after the other, and for hard ones;
    heuristic where sampling found the directions.
    References: Abbe et al. 2023, arXiv:2302.11055; Dandi et al. 2023, arXiv:2305.18270; Troiani et
    al. 2024, arXiv:2405.15480; Damian et al. 2024, arXiv:2403.05529.

    >>> from giantstep.language.targets import Target
    >>> from giantstep.theory.learnability.staircase import leap_staircase
    >>> target = Target("h1 + He3(h1)*h2")
    >>> found = sample_complexities(leap_staircase(target), leap_staircase(target), (), 2)
    >>> found["giant_steps"].samples, found["giant_steps"].status
    ('d in each of 2 steps', 'conjecture')
    """
    single = len(staircase.stairs) == 1 == dimension
    proved: Status = "theorem" if len(staircase.stairs) <= 1 else "conjecture"
    hard = any(stair.difficulty == "hard" for stair in grand.stairs)
    later = any(t.stair > 0 or t.alpha is None for t in thresholds)
    best: Status = "conjecture" if hard else "replica" if later else "theorem"
    found: dict[str, tuple[str, str, Status, str]] = {
        "correlations": (
            "best use of correlations (CSQ bound)",
            _law_at_largest(correlation_samples, staircase, dimension),
            proved,
            ABBE,
        ),
        "one_pass_sgd": (
            "one-pass SGD",
            _law_at_largest(one_pass_samples, staircase, dimension),
            "theorem" if single else "conjecture",
            BEN_AROUS if single else ABBE,
        ),
        "one_giant_step": ("one giant step", _one_step(staircase, dimension), "theorem", DANDI),
        "giant_steps": ("giant steps", _several_steps(staircase, dimension), proved, DANDI),
    }
    if (staircase.first_leap or 1) > 1:
        text = small_batch_samples(staircase.first_leap or 1)
        name = "giant steps on small batches, for the first stair"
        found["small_batches"] = name, text, "heuristic", DANDI
    passing = _amp_samples(grand, thresholds, dimension)
    reference = DAMIAN if hard else TROIANI
    found["amp"] = "message passing (SQ, best known)", passing, best, reference
    sampled = dict.fromkeys(found, staircase.sampled) | {"amp": grand.sampled}
    return {
        name: Complexity(algorithm, samples, _weakened_status(status, sampled[name]), reference)
        for name, (algorithm, samples, status, reference) in found.items()
    }


def _weakened_status(status: Status, sampled: bool) -> Status:
    """Directions that were found by sampling are nobody's theorem."""
    return "heuristic" if sampled and status in ("theorem", "replica") else status


def _law_at_largest(law: Callable[[int], str], staircase: Staircase, dimension: int) -> str:
    """The law at the largest leap on the way."""
    if staircase.largest_leap is None:
        return _sample_law_of_nothing(staircase)
    return law(staircase.largest_leap) + _sample_law_missed(staircase, dimension)


def _sample_law_missed(staircase: Staircase, dimension: int) -> str:
    missing = dimension - len(staircase.subspace)
    if missing <= 0:
        return ""
    noun = "direction is" if missing == 1 else "directions are"
    return f"; {missing} {noun} not seen up to degree {staircase.degree}"


def _sample_law_of_nothing(staircase: Staircase) -> str:
    return f"nothing is seen up to degree {staircase.degree}"


def _one_step(staircase: Staircase, dimension: int) -> str:
    if staircase.first_leap is None:
        return _sample_law_of_nothing(staircase)
    first = staircase.stairs[0]
    text = giant_step_samples(first.leap)
    if len(first.directions) < dimension:
        text += f" for {len(first.directions)} of {dimension} directions"
    return text


def _several_steps(staircase: Staircase, dimension: int) -> str:
    leaps = [stair.leap for stair in staircase.stairs]
    if len(set(leaps)) > 1:
        text = ", then ".join(giant_step_samples(leap) for leap in leaps)
        return text + _sample_law_missed(staircase, dimension)
    steps = f" in each of {len(leaps)} steps" if len(leaps) > 1 else " in one step"
    return _law_at_largest(lambda leap: giant_step_samples(leap) + steps, staircase, dimension)


def _amp_samples(grand: Staircase, thresholds: Sequence[Threshold], dimension: int) -> str:
    if not grand.stairs:
        return _sample_law_of_nothing(grand)
    parts = []
    for number, stair in enumerate(grand.stairs):
        if stair.difficulty == "trivial":
            parts.append("alpha d with any alpha > 0")
        elif stair.difficulty == "easy":
            alphas = [threshold.alpha for threshold in thresholds if threshold.stair == number]
            parts += [f"{a.value:.4g} d" if a else "alpha d above an unknown alpha" for a in alphas]
        else:
            parts.append(f"d^{stair.leap / 2:g}")
    return ", then ".join(parts) + _sample_law_missed(grand, dimension)

"""Over the catalogue: the grand staircase contains the other one, and two stacks agree."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.channels import channel_for
from giantstep.problem import Problem
from giantstep.targets import Target
from giantstep.targets.catalogue import catalogue
from giantstep.theory.learnability.grand_staircase import grand_staircase
from giantstep.theory.learnability.sandwich import sandwich_spectrum
from giantstep.theory.learnability.staircase import Staircase, leap_staircase
from giantstep.theory.learnability.stairs import SAMPLED_ACCURACY
from giantstep.theory.learnability.thresholds import easy_thresholds
from giantstep.theory.message_passing.averages.population import population_of
from giantstep.theory.message_passing.phases import linear_threshold

NAMES = [entry.name for entry in catalogue()]
#: Labels of message passing are averaged over cells, which are wide where the density of h1*h2
#: is infinite.
WIDE_CELLS = {"product-two": 0.02}
#: Posteriors by quadrature over several fields take many seconds each.
COMPARED = [
    *(name for name in NAMES if Target(name).rank == 1),
    *("product-two", "parity-two", "parity-three"),
]


def reached(staircase: Staircase, largest: int) -> np.ndarray:
    """Directions that are climbed to before the first leap above the largest."""
    rows = [np.zeros((0, staircase.rank))]
    for stair in staircase.stairs:
        if stair.leap > largest:
            break
        rows.append(stair.directions)
    return np.vstack(rows)


@pytest.mark.parametrize("name", NAMES)
def test_any_function_of_the_label_shows_what_the_label_shows(name: str) -> None:
    """At every leap: the label itself is one of its functions."""
    steps, grand = leap_staircase(Target(name)), grand_staircase(Target(name))
    error = max([stair.error for stair in grand.stairs], default=0.0)
    allowed = max(SAMPLED_ACCURACY, 4 * error) if grand.sampled else 1e-6
    assert allowed < 0.1
    for leap in {stair.leap for stair in steps.stairs}:
        inside, outside = reached(steps, leap), reached(grand, leap)
        rest = inside - inside @ outside.T @ outside
        assert np.linalg.norm(rest, 2) <= allowed


def channel_threshold(problem: Problem) -> float:
    """The threshold from posteriors of message passing, which share no code with cells of labels.

    0 if a label tells a mean, infinite if none tells a covariance.
    """
    law = population_of(channel_for(problem)).label_law
    if law.weights @ (law.means**2).sum(axis=1) > 1e-9:
        return 0.0
    product = np.einsum("n,nij,nkl->ijkl", law.weights, law.curvatures, law.curvatures)
    rate = sandwich_spectrum(product)[0][-1]
    return 1 / float(rate) if rate > 1e-6 else np.inf


@pytest.mark.parametrize("name", COMPARED)
def test_posteriors_and_cells_of_labels_give_one_threshold(name: str) -> None:
    problem = Problem.of(name)
    first = grand_staircase(problem.target).first_leap
    expected = {1: 0.0, 2: channel_threshold(problem)}.get(first or 0, np.inf)
    if first != 2:
        assert channel_threshold(problem) == expected
    else:
        alpha = easy_thresholds(problem.target)[0].alpha
        assert alpha is not None
        assert 4 * alpha.error < 0.02 * alpha.value
        accuracy = WIDE_CELLS.get(name, 2e-5)
        assert alpha.value == pytest.approx(expected, rel=accuracy, abs=4 * alpha.error)
    assert linear_threshold(problem) == pytest.approx(expected, rel=WIDE_CELLS.get(name, 2e-4))


def test_easy_targets_are_among_those_compared() -> None:
    leaps = [grand_staircase(Target(name)).first_leap for name in COMPARED]
    assert leaps.count(1) >= 5
    assert leaps.count(2) >= 5

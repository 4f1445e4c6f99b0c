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

FEW_DIRECTIONS = [e.name for e in catalogue() if Target(e.name).rank <= 4]
#: Posteriors of three fields, or of two by quadrature, take many seconds.
COSTLY_CHANNELS = set()
CHEAP_CHANNELS = [name for name in FEW_DIRECTIONS if name not in COSTLY_CHANNELS]


def reached(staircase: Staircase, largest: int) -> np.ndarray:
    """Directions that are climbed to before the first leap above the largest."""
    rows = [np.zeros((0, staircase.rank))]
    for stair in staircase.stairs:
        if stair.leap > largest:
            break
        rows.append(stair.directions)
    return np.vstack(rows)


@pytest.mark.parametrize("name", FEW_DIRECTIONS)
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


@pytest.mark.parametrize("name", CHEAP_CHANNELS)
def test_posteriors_and_cells_of_labels_give_one_threshold(name: str) -> None:
    problem = Problem.of(name)
    from_posteriors = channel_threshold(problem)
    known = easy_thresholds(problem.target)
    first = grand_staircase(problem.target).first_leap
    if first == 2:
        alpha = known[0].alpha
        assert from_posteriors == pytest.approx(alpha.value, rel=2e-5, abs=4 * alpha.error)
        assert 4 * alpha.error < 0.02 * alpha.value
    else:
        assert from_posteriors == (0.0 if first == 1 else np.inf)
    assert linear_threshold(problem) == pytest.approx(from_posteriors, rel=0.02)

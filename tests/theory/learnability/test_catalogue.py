"""Over the catalogue: the grand staircase contains the other one, and two stacks agree."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.channels.channel import channel_of_problem
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.language.targets.catalogue import catalogue
from giantstep.theory.amp.averages.population import Population, population_of
from giantstep.theory.amp.phases import linear_threshold
from giantstep.theory.learnability.grand_staircase import grand_staircase
from giantstep.theory.learnability.later_thresholds import sandwich_spectrum
from giantstep.theory.learnability.staircase import SAMPLED_ACCURACY, Staircase, leap_staircase
from giantstep.theory.learnability.thresholds import easy_thresholds, weak_recovery_threshold

NAMES = [entry.name for entry in catalogue()]
#: Targets without a closed form: their labels get noise, and posteriors come from a quadrature
#: whose own error, which a coarser rule shows, is at most this.
BY_QUADRATURE = {"product-two": 1e-4, "circle": 2e-3}
#: Posteriors by quadrature over several fields take many seconds each.
COMPARED = [
    *(name for name in NAMES if Target(name).rank == 1),
    *("parity-two", "parity-three"),
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


def channel_threshold(population: Population) -> float:
    """The threshold from posteriors of message passing, which share no code with cells of labels.

    0 if a label tells a mean, infinite if none tells a covariance.
    """
    law = population.label_law
    if law.weights @ (law.means**2).sum(axis=1) > 1e-9:
        return 0.0
    product = np.einsum("n,nij,nkl->ijkl", law.weights, law.curvatures, law.curvatures)
    rate = sandwich_spectrum(product)[0][-1]
    return 1 / float(rate) if rate > 1e-6 else np.inf


@pytest.mark.parametrize("name", COMPARED)
def test_posteriors_and_cells_of_labels_give_one_threshold(name: str) -> None:
    problem = Problem.of(name)
    found = channel_threshold(population_of(problem))
    first = grand_staircase(problem.target).first_leap
    expected = {1: 0.0, 2: found}.get(first or 0, np.inf)
    if first != 2:
        assert found == expected
    else:
        alpha = easy_thresholds(problem.target)[0].alpha
        assert alpha is not None
        assert 4 * alpha.error < 0.02 * alpha.value
        assert alpha.value == pytest.approx(expected, rel=2e-5, abs=4 * alpha.error)
    assert linear_threshold(problem) == pytest.approx(expected, rel=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_QUADRATURE)
def test_posteriors_by_quadrature_have_the_threshold_of_the_noise_they_got(name: str) -> None:
    """The noise moves it by 1.4 % and .9 %: the same number at the noise 0 would be wrong."""
    problem = Problem.of(name)
    channel = channel_of_problem(problem)
    assert channel.altered
    population = population_of(problem)
    assert population.coarse is not None
    found, rough = (channel_threshold(p) for p in (population, population.coarse))
    assert abs(found - rough) < BY_QUADRATURE[name] * found
    alpha = weak_recovery_threshold(problem.target, channel.noise)
    assert 4 * alpha.error < 5e-3 * alpha.value
    assert abs(found - alpha.value) < abs(found - rough) + 4 * alpha.error
    # The cells of labels need no noise.
    assert linear_threshold(problem) < found - 4 * alpha.error


def test_easy_targets_are_among_those_compared() -> None:
    leaps = [grand_staircase(Target(name)).first_leap for name in COMPARED]
    assert leaps.count(1) >= 5
    assert leaps.count(2) >= 5


def test_the_spectrum_of_many_directions_takes_no_more_than_its_products() -> None:
    """For 16 directions a sum over six indices at once took seconds; the operator is the same."""
    random = np.random.default_rng(0)
    product = random.normal(size=(3, 3, 3, 3))
    product += product.transpose(3, 2, 1, 0)
    values, matrices = sandwich_spectrum(product)
    image = np.einsum("ijkl,jk->il", product, matrices[-1])
    image = (image + image.T) / 2
    assert np.sum(image * matrices[-1]) == pytest.approx(values[-1])
    # M -> M, on the 136 symmetric matrices of 16 directions.
    identity = np.eye(16)
    many, _ = sandwich_spectrum(np.einsum("ij,kl->ijkl", identity, identity))
    np.testing.assert_allclose(many, 1.0)

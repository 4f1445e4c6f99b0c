"""Labels a channel cannot have, targets with too many directions: one clear line each."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.channels.channel import channel_of_problem
from giantstep.errors import TargetError
from giantstep.language.problem import Problem


@pytest.mark.parametrize(
    ("text", "label", "message"),
    [
        ("sign(h1*h2)", 0.5, r"label y = 0.5 is none of this target's values: -1, 1$"),
        ("h1^2", -1.0, r"label y = -1 is no value of the noiseless target .*noise > 0$"),
        ("tanh(h1)", 2.0, r"label y = 2 is no value of the noiseless target"),
        ("relu(h1)", -0.1, r"label y = -0.1 is no value of the noiseless target"),
    ],
)
def test_labels_out_of_range(text: str, label: float, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        channel_of_problem(Problem.of(text)).labels(np.array([label]))


@pytest.mark.parametrize("label", [np.nan, np.inf])
@pytest.mark.parametrize("text", ["h1", "sign(h1)", "h1^2"])
def test_labels_must_be_finite(text: str, label: float) -> None:
    with pytest.raises(TargetError, match="labels must be finite numbers"):
        channel_of_problem(Problem.of(text)).labels(np.array([1.0, label]))


def test_more_than_three_directions() -> None:
    with pytest.raises(
        TargetError, match=r"depends on 4 directions: .* covers at most 3, or a committee"
    ):
        channel_of_problem(Problem.of("h1*h2*h3*h4", noise=0.1))


def test_many_directions_that_make_one_field_are_fine() -> None:
    channel = channel_of_problem(Problem.of("sign(h1 + h2 + h3 + h4)"))
    assert (channel.rank, channel.structure.fields, channel.kind) == (4, 1, "discrete")


def test_noiseless_targets_without_closed_form_say_which_noise_they_got() -> None:
    channel = channel_of_problem(Problem.of("h1*h2"))
    assert channel.noise == pytest.approx(0.01, rel=0.05)
    assert "labels got noise of variance" in channel.notes[0]

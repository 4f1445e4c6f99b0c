"""Committees are recognised however they are written, and nothing else is taken for one."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.targets import Target
from giantstep.language.targets.symmetry import target_as_committee


@pytest.mark.parametrize(
    ("text", "link", "rank", "shift", "noise"),
    [
        ("(tanh(h1) + tanh(h2) + tanh(h3) + tanh(h4))/4", "tanh(h1)/4", 4, 0.0, 0.0),
        ("relu(h1 - 1) + relu(h2 - 1) + 1 + 0.5*z1", "relu(h1 - 1)", 2, 1.0, 0.25),
        ("h1 + tanh(h1) + h2 + tanh(h2) + z1 + z2", "h1 + tanh(h1)", 2, 0.0, 2.0),
        ("h1^2 + h2^2 + h3^2", "h1^2", 3, 0.0, 0.0),
    ],
)
def test_sums(text: str, link: str, rank: int, shift: float, noise: float) -> None:
    found = target_as_committee(Target(text))
    assert found is not None
    assert found.vote is None
    assert (found.link, found.rank, found.shift) == (Target(link), rank, shift)
    assert found.noise == pytest.approx(noise, rel=1e-12)


def test_votes_with_noise_inside_and_outside() -> None:
    found = target_as_committee(Target("2*sign(tanh(h1) + tanh(h2) + 0.5*z1) + 1 + 0.2*z2"))
    assert found is not None
    assert found.vote == (-1.0, 1.0, 3.0)
    # The language scales what a sign is taken of: only the ratio means something.
    one = np.ones((1, 1))
    gain = float(found.link.numpy(one)[0] / Target("tanh(h1)").numpy(one)[0])
    assert found.noise / gain**2 == pytest.approx(0.25)
    assert found.vote_noise == pytest.approx(0.04)


@pytest.mark.parametrize(
    "text",
    [
        "tanh(h1) + 2*tanh(h2)",
        "tanh(h1) + relu(h2)",
        "h1*h2 + h3*h4",
        "sign(h1*h2*h3*h4)",
        "sign(h1 + h2) + h1",
        "sign(h1 + h2 + z1) + z1",
        "tanh(h1) + tanh(h2) + z1^2",
        "tanh(h1)",
    ],
)
def test_other_targets_are_none(text: str) -> None:
    assert target_as_committee(Target(text)) is None


def test_even_links() -> None:
    even, odd = (target_as_committee(Target(t)) for t in ("abs(h1) + abs(h2)", "h1^3 + h2^3"))
    assert even is not None
    assert odd is not None
    assert even.is_even
    assert not odd.is_even

"""Targets with finitely many values."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.targets import Target


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("sign(h1)", (-1, 1)),
        ("sign(h1*h2*h3)", (-1, 1)),
        ("step(h1 - 4)", (0, 1)),
        ("(|h1| < 1)", (0, 1)),
        ("(h1 <= 0.5)", (0, 1)),
        ("sign(h1) + sign(h2)", (-2, 0, 2)),
        ("sign(h1)*(h2 < 1)", (-1, 0, 1)),
        ("sign(h1) + 2*sign(h1 - 1)", (-3, -1, 3)),
        ("step(h1) + step(-h1) + 0.5*sign(h1)", (0.5, 1.5)),
        ("sign(relu(h1))", (0, 1)),
        ("sign(h1 + 0.5*z1)", (-1, 1)),
        ("max(sign(h1), sign(h2), 0)", (0, 1)),
        ("exp(sign(h1))", (np.exp(-1), np.exp(1))),
        ("1/(2 + sign(h1))", (1 / 3, 1)),
        ("(sign(h1) < sign(h2))", (0, 1)),
        ("+".join(f"sign(h{i})" for i in range(1, 9)), tuple(range(-8, 9, 2))),
    ],
)
def test_finitely_many(text, values):
    target = Target(text)
    assert target.discrete_values == pytest.approx(values, abs=1e-11)
    rng = np.random.default_rng(0)
    labels = target.numpy(
        4 * rng.standard_normal((2000, target.rank)), rng.standard_normal((2000, target.noises))
    )
    assert set(np.round(labels, 9)) <= set(np.round(target.discrete_values, 9))


@pytest.mark.parametrize(
    "text", ["h1", "relu(h1)", "h1*sign(h2)", "sign(h1) + 0.5*z1", "tanh(9*h1)", "|h1| + sign(h2)"]
)
def test_not_finitely_many(text):
    assert Target(text).discrete_values is None

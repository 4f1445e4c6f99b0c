"""Kinks and jumps: where they are on each axis, and when they are elsewhere."""

from __future__ import annotations

import math

import pytest

from giantstep.language.targets import Target


@pytest.mark.parametrize(
    ("text", "kinks"),
    [
        ("h1 + He3(h1)*h2", ((), ())),
        ("sin(h1)*exp(h2)", ((), ())),
        ("|h1|", ((0.0,),)),
        ("sign(h1*h2)", ((0.0,), (0.0,))),
        ("sign(h1*h2*h3) + h1**2", ((0.0,), (0.0,), (0.0,))),
        ("sign((h1 - 1)*(h2 + 0.5))", ((1.0,), (-0.5,))),
        (
            "|h1*(h2 - 1)*sin(h2)|",
            ((0.0,), (-2 * math.pi, -math.pi, 0.0, 1.0, math.pi, 2 * math.pi)),
        ),
        ("relu(h1 - 1) + relu(-h2 - 0.25)", ((1.0,), (-0.25,))),
        ("(|h1| < 1)", ((-1.0, 0.0, 1.0),)),
        ("sign(h1**3 - h1)", ((-1.0, 0.0, 1.0),)),
        ("sign(h1**2 - 2)", ((-math.sqrt(2), math.sqrt(2)),)),
        ("max(h1, 1, 2*h1)", ((0.0, 0.5, 1.0),)),
        ("min(h1, 0.5)*h2", ((0.5,), ())),
        ("sign(exp(h1)*h2) + h1", ((), (0.0,))),
        ("relu(tanh(h1) - 0.5)", ((math.atanh(0.5),),)),
        ("sqrt(|h1|)*h2", ((0.0,), ())),
        ("log(|h1 - 3|)", ((3.0,),)),
        ("|h1|**-0.3", ((0.0,),)),
        ("sqrt(1 - cos(h1))", ((-2 * math.pi, 0.0, 2 * math.pi),)),
        ("log(cos(h1/2)**2)", ((-math.pi, math.pi),)),
        ("sqrt(relu(1 - h1**2))", ((-1.0, 1.0),)),
        ("sqrt(1 + h1**2 + h2**2)", ((), ())),
        ("|2 + sin(h1*h2)|", ((), ())),
        ("step(h1 - 20) + h1", ((),)),
        ("sign((h1 - 1)**2*h2) + h1", ((), (0.0,))),
        ("relu(h1)/(2 + |h2|)", ((0.0,), (0.0,))),
    ],
)
def test_aligned(text, kinks):
    target = Target(text)
    assert target.aligned_kinks
    assert len(target.kinks) == target.rank
    for found, expected in zip(target.kinks, kinks, strict=True):
        assert found == pytest.approx(expected, abs=2e-8)
        assert len(found) == len(expected)


def test_roots_are_sharp():
    (kinks,) = Target("sign(h1**2 - 2)").kinks
    assert abs(kinks[1] - math.sqrt(2)) <= 4 * math.ulp(math.sqrt(2))
    assert Target("sign(h1 - 0.1)").kinks == ((0.1,),)


@pytest.mark.parametrize(
    ("text", "kinks"),
    [
        ("relu(h1 + h2 - 1)", ((), ())),
        ("max(h1, h2)", ((), ())),
        ("sign(h1*h2 - 1)", ((), ())),
        ("sign(h1*(h2 + h3))", ((0.0,), (), ())),
        ("|h1| + sign(h1 - h2**2)", ((0.0,), ())),
        ("sqrt(h1**2 + h2**2)", ((), ())),
        ("sign(h1 + 0.5*z1)", ((),)),
    ],
)
def test_not_aligned(text, kinks):
    target = Target(text)
    assert not target.aligned_kinks
    assert target.kinks == kinks


def test_noises_have_their_own_kinks():
    target = Target("h1*sign(z1 - 2)")
    assert target.kinks == ((),)
    assert target.noise_kinks == ((2.0,),)
    assert target.aligned_kinks

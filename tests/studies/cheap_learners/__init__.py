"""Learners that cost nothing, for the tests of studies."""

from __future__ import annotations

from giantstep.asking.table import Learner

SUMS = Learner(
    name="sums",
    summary="sums of random numbers",
    settings="sums:Sums",
    simulate="sums:simulate",
    predict="sums:predict",
    metrics=("total", "profile"),
    theory="the mean of the sum",
    references=("none",),
    example="--target h1 --samples 4d",
    package="cheap_learners",
)

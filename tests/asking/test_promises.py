"""What is promised of memory, threads, messages and files of every command."""

from __future__ import annotations

import dataclasses
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import giantstep as gs
from giantstep.asking.questions import asked_questions
from giantstep.asking.studies.study import Study
from giantstep.asking.table import learner_to_ask
from giantstep.asking.workers.backlog import REFUSED
from giantstep.asking.workers.environment import _forget_old_compilations, worker_threads
from giantstep.errors import MOST_SAID, GiantstepError, SettingsError
from giantstep.laboratory.work import do_for_lab
from giantstep.settings.mean_field import MeanField
from giantstep.settings.online_sgd import OnlineSgd
from giantstep.settings.three_layer import ThreeLayer


@pytest.mark.parametrize(
    "ask",
    [
        lambda: gs.simulate(gs.GiantStep(dim=1000, width=10**9), "h1"),
        lambda: gs.simulate(MeanField(dim=1000, width=10**9), "h1"),
        lambda: gs.spectrum(gs.GiantStep(dim=10**6, width="1d", samples="4d"), "h1"),
        lambda: gs.simulate(ThreeLayer(dim=10**6), "tree-he2"),
        lambda: gs.predict(gs.GiantStep(step_size=1e6, ridge=0.1, width="1d"), "h1"),
        lambda: gs.predict(MeanField(dim=100, width=2000, activation="relu"), "h1*h2*h3"),
        lambda: gs.predict(OnlineSgd(width=2000, activation="erf2"), "erf(h1/sqrt(2))"),
    ],
    ids=[
        *("giant-step", "mean-field", "spectrum", "three-layer"),
        *("giant-step theory", "mean-field theory", "online-sgd theory"),
    ],
)
def test_what_does_not_fit_is_refused_before_memory_is_taken(ask: Callable[[], object]) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(GiantstepError, match="lower "):
            ask()
        assert tracemalloc.get_traced_memory()[1] < 300 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("given", [{}, {"ridge": 0.1, "width": "1d"}])
def test_ten_thousand_giant_steps_are_refused(given: dict[str, Any]) -> None:
    """The recursion would have run for a quarter of an hour."""
    with pytest.raises(GiantstepError, match="steps = 10000"):
        gs.predict(gs.GiantStep(steps=10_000, **given), "h1")


@pytest.mark.parametrize(
    ("settings", "problem", "words"),
    [
        ({"dim": 100, "width": 1000, "activation": "relu"}, "h1*h2*h3", "of memory and the lab"),
        ({"dim": 100, "width": 500, "times": "1000000"}, "h1", "for each point and the lab gives"),
    ],
)
def test_the_lab_refuses_theory_that_does_not_fit(
    settings: dict[str, Any], problem: str, words: str
) -> None:
    point = {"learner": "mean-field", "settings": settings, "problem": {"target": problem}}
    outcome = do_for_lab(("predict", {"point": point}), lambda share: None)
    assert outcome.status == REFUSED
    assert words in outcome.error


def test_the_estimate_of_a_theory_is_near_what_it_uses() -> None:
    row, settings = learner_to_ask("mean-field"), MeanField(dim=100, width=40, times="0.2")
    for kind in ("relu", "tanh"):
        question = asked_questions(settings.replace(activation=kind), "h1*h2").questions[0]
        cost = row.cost_of("predict", question)
        assert cost is not None
        tracemalloc.start()
        try:
            row.load("predict")(question.problem, question.settings)
            used = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert used / 2.5 < cost.bytes < 2.5 * used


def test_cells_of_other_threads_are_other_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study(name="s", learner="giant-step", problem="h1", settings={"dim": 20})
    one = study.blocks()[0]
    keys = {dataclasses.replace(one, threads=count).keys for count in (1, 2, 4)}
    assert len(keys) == 3
    assert one.keys in keys
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    assert worker_threads() == 1
    monkeypatch.setattr("giantstep.asking.workers.environment.usable_cores", lambda: 7)
    monkeypatch.delenv("XLA_FLAGS")
    assert worker_threads() == 7


def test_a_message_is_never_too_long() -> None:
    assert len(str(SettingsError("x" * 5000))) == MOST_SAID
    assert str(SettingsError("short")) == "short"


def test_compiled_programs_are_kept_up_to_a_size(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / str(number)).write_bytes(bytes(100))
        os.utime(tmp_path / str(number), (number, number))
    _forget_old_compilations(tmp_path, 1000)
    assert len(list(tmp_path.iterdir())) == 10
    _forget_old_compilations(tmp_path, 900)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["6", "7", "8", "9"]

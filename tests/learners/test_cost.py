"""What a simulation costs: refused beyond memory, announced beyond patience, estimated rightly."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from smallest import asked_by
from typer.testing import CliRunner

from giantstep.asking.one_point import question_seconds
from giantstep.asking.questions import asked_questions
from giantstep.asking.table import LEARNERS, Learner, learner_to_ask
from giantstep.asking.verbs import simulate
from giantstep.cli.main import app
from giantstep.errors import SettingsError
from giantstep.settings.giant_step import GiantStep

#: Settings beyond any machine, words of the refusal, and last the argument that is to be lowered.
HUGE: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("giant-step", {"dim": 10**6, "width": 10**6}, ("width = 1000000", "TiB", "width")),
    (
        "giant-step",
        {"dim": 50, "width": 4, "batches": "reused", "samples": 10**12},
        ("samples = 1000000000000", "samples"),
    ),
    ("spiked-random-features", {"dim": 10**6}, ("readout_samples",)),
    ("random-features", {"dim": 10**6}, ("samples = 2000000", "width")),
    ("kernel", {"dim": 20, "samples": "d^8"}, ("samples = 25600000000", "test_samples")),
    ("amp", {"dim": 10**6}, ("samples = 4000000", "dim")),
    ("spectral", {"dim": 10**6}, ("samples = 4000000", "dim")),
    ("power-law", {"samples": 10**7}, ("samples = 1e+07", "modes")),
    ("gradient-flow", {"dim": 10**6}, ("samples = 8000000", "dim")),
    ("pca", {"dim": 10**6}, ("samples = 4000000", "dim")),
    ("online-sgd", {"dim": 10**6, "width": 10**6}, ("width = 1000000", "width")),
    ("mean-field", {"dim": 10**6, "width": 10**6}, ("width = 1000000", "width")),
    ("repetition", {"dim": 10, "samples": 10**12}, ("samples = 1000000000000", "samples")),
    ("langevin", {"dim": 10**6}, ("samples = 4000000", "width")),
    ("three-layer", {"dim": 10**4}, ("samples = 100000000", "samples")),
]


def target_of(name: str) -> str | None:
    row = learner_to_ask(name)
    return "tree-he2" if row.has_tree else "h1" if row.has_target else None


@pytest.mark.parametrize("row", LEARNERS, ids=lambda row: row.name)
def test_every_learner_has_an_estimate(row: Learner) -> None:
    settings, problem = asked_by(row, row.smallest[0])
    grid: Any = asked_questions(settings, **problem)
    question = grid.questions[0]
    assert 0 < row.load("cost")(question.problem, question.settings).bytes < 1e9


@pytest.mark.parametrize(("name", "options", "words"), HUGE, ids=lambda x: str(x)[:30])
def test_what_does_not_fit_is_refused(
    name: str, options: dict[str, Any], words: tuple[str, ...]
) -> None:
    settings = learner_to_ask(name).load("settings")(**options)
    with pytest.raises(SettingsError, match="of memory and the machine has") as caught:
        simulate(settings, target_of(name), seeds=1)
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in words[:-1]), message
    assert words[-1] in message.rpartition(": ")[2], message


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("random-features", {"dim": 100, "samples": "4d", "width": "3d"}),
        ("kernel", {"dim": 50, "samples": "8d", "test_samples": 500}),
        ("spiked-random-features", {"dim": 100, "readout_samples": "4d", "width": "3d"}),
        ("power-law", {"samples": 150, "width": 100}),
        ("spectral", {"dim": 200, "samples": "4d"}),
        ("pca", {"dim": 200, "samples": "4d", "test_samples": 500}),
    ],
)
def test_the_estimate_of_memory_is_near_what_is_used(name: str, options: dict[str, Any]) -> None:
    row = learner_to_ask(name)
    grid: Any = asked_questions(row.load("settings")(**options), target_of(name))
    question = grid.questions[0]
    estimate = row.load("cost")(question.problem, question.settings).bytes
    simulate(grid, seeds=1)
    tracemalloc.start()
    try:
        simulate(grid, seeds=1)
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert used / 2.5 < estimate < 2.5 * used


def test_operations_grow_with_the_work() -> None:
    settings = learner_to_ask("giant-step").load("settings")(dim=1000, width=100, method="direct")
    once, more = (
        question_seconds(
            learner_to_ask("giant-step"),
            asked_questions(settings.replace(steps=steps), "h1").questions,
            seeds,
        )
        for steps, seeds in ((1, 1), (2, 3))
    )
    assert more == pytest.approx(6 * once)


def test_a_long_run_is_announced_on_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [
        "simulate",
        "kernel",
        "--target",
        "h1",
        "--samples",
        "1d",
        "--dim",
        "20",
        "--seeds",
        "1",
        "--json",
    ]
    assert CliRunner().invoke(app, words).stderr == ""
    monkeypatch.setattr("giantstep.cli.learners.LONG_SECONDS", 0.0)
    result = CliRunner().invoke(app, words)
    assert result.stdout.startswith("{")
    assert result.stderr.startswith("this will take about ")


def test_what_nobody_would_wait_for_is_refused_in_law_too() -> None:
    settings = GiantStep(dim=10**6, samples=10**15, width=50, method="in-law")
    with pytest.raises(SettingsError, match=r"would take about .* days") as refused:
        simulate(settings, "h1", seeds=1)
    assert "\n" not in str(refused.value)

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
import pytest

from giantstep.errors import GiantstepError, SettingsError
from giantstep.language.inputs import Sphere, Spiked
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.learners.giant_step.direct import DirectRun
from giantstep.learners.giant_step.draws import Draws, Role
from giantstep.learners.giant_step.plan import plan_giant_steps
from giantstep.learners.giant_step.samples import Batches
from giantstep.learners.giant_step.simulation import choose_simulation, simulate
from giantstep.numerics import cost
from giantstep.numerics.float64 import float64
from giantstep.settings.giant_step import GiantStep

STAIRS = Problem.of("h1 + h1*h2", noise=0.3)
SMALL: dict[str, Any] = {"dim": 30, "samples": 70, "width": 6, "steps": 2, "step_size": 2}


@pytest.mark.parametrize(
    ("loss", "detrend", "normalise"),
    [("square", False, False), ("square", True, False), ("correlation", False, True)],
)
def test_a_direct_step_is_the_formula(
    loss: str, detrend: bool, normalise: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three chunks, the last one not full, against the step written with plain sums."""
    monkeypatch.setattr("giantstep.learners.giant_step.samples.CHUNK_NUMBERS", 30 * 24)
    monkeypatch.setattr("giantstep.learners.giant_step.samples.FEWEST_ROWS", 1)
    settings = GiantStep(**SMALL, activation="tanh", biases="normal", dtype="float64").replace(
        loss=loss, detrend=detrend, normalise=normalise, readout="normal"
    )
    resolved = plan_giant_steps(STAIRS, settings)
    with float64(), ThreadPoolExecutor(1) as executor:
        draws = Draws([3], executor)
        runs = DirectRun(resolved, draws)
        w, a, b = np.array(runs.weights[0]), runs._neurons.readout[0], runs._neurons.biases[0]
        chunks = list(Batches(resolved, draws, "float64").stream(Role.BATCH, 1, 70, 30))
        runs.step(1)
        moved = np.array(runs.weights[0])
    assert [chunk.filled for chunk in chunks] == [24, 24, 22]
    x = np.concatenate([chunk.inputs[0] for chunk in chunks])[:70]
    xi = np.concatenate([chunk.random.label[0] for chunk in chunks])[:70]
    y = x[:, 0] + x[:, 0] * x[:, 1] + np.sqrt(0.3) * xi
    if detrend:
        y = y - y.mean()
        y = y - x @ (x.T @ y / 70)
    h = x @ w.T + b
    residual = y - (np.tanh(h) @ a / 6 if loss == "square" else 0)
    expected = w + 2 * a[:, None] * ((residual[:, None] * (1 - np.tanh(h) ** 2)).T @ x) / 70
    if normalise:
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(moved, expected, atol=1e-12)


@pytest.mark.parametrize("method", ["direct", "in-law"])
def test_a_run_does_not_depend_on_how_many_there_are(method: str) -> None:
    settings = GiantStep(**SMALL, method=method, ridge=0.1, test_samples=50)
    many = simulate(STAIRS, settings, seeds=5, seed=3)
    few = simulate(STAIRS, settings, seeds=2, seed=4)
    for name, values in many.metrics.items():
        np.testing.assert_array_equal(values[1:3], few.metrics[name], err_msg=name)
    assert not np.array_equal(many.metrics["overlap"][0], many.metrics["overlap"][1])


def test_shapes_notes_and_progress() -> None:
    reported: list[float] = []
    settings = GiantStep(**SMALL, ridge=0.1, test_samples=50)
    run = simulate(STAIRS, settings, seeds=3, progress=reported.append)
    assert {name: values.shape for name, values in run.metrics.items()} == {
        "overlap": (3, 3, 2),
        "overlap_spectrum": (3, 3, 2),
        "baseline": (3, 3, 2),
        "test_error": (3, 3),
        "test_error_noisy": (3, 3),
        "train_error": (3, 3),
        "gcv_error": (3, 3),
        "loo_error": (3, 3),
    }
    assert run.arrays["overlap_matrix"].shape == (3, 3, 2, 2)
    assert run.arrays["cosines"].shape == (3, 3, 6, 2)
    assert run.notes == ("method: in-law, exact at a cost that ignores d, chosen by auto",)
    assert reported == sorted(reported)
    assert reported[-1] == 1.0
    np.testing.assert_allclose(run.metrics["baseline"][:, 0], 30**-0.5)
    np.testing.assert_allclose(
        np.diagonal(run.arrays["overlap_matrix"], axis1=-2, axis2=-1), run.metrics["overlap"] ** 2
    )


@pytest.mark.parametrize(
    ("options", "problem", "method"),
    [
        ({}, STAIRS, "in-law"),
        ({"width": 28}, STAIRS, "direct"),
        ({"width": 10, "batches": "reused"}, STAIRS, "direct"),
        ({"width": 8, "batches": "reused"}, STAIRS, "in-law"),
        ({}, Problem.of("h1", inputs=Spiked("d^0.5")), "in-law"),
        ({}, Problem.of("h1", inputs=Sphere()), "direct"),
    ],
)
def test_auto_takes_the_cheaper_exact_method(
    options: dict[str, Any], problem: Problem, method: str
) -> None:
    chosen, why = choose_simulation(plan_giant_steps(problem, GiantStep(**(SMALL | options))))
    assert chosen == method
    assert why.startswith(f"method: {method}, ")


@pytest.mark.parametrize("name", ["erf2", "abs", "He3", "relu(z-1)"])
@pytest.mark.parametrize(("dtype", "method"), [("float32", "direct"), ("float64", "in-law")])
def test_every_kind_of_activation_in_both_precisions(name: str, dtype: str, method: str) -> None:
    settings = GiantStep(**SMALL, dtype=dtype, activation=name, biases="uniform", method=method)
    run = simulate(Problem.of("sign(h1 + 0.5*z1)"), settings, seeds=1)
    assert np.all(np.isfinite(run.metrics["overlap"]))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"dim": 2, "steps": 1}, STAIRS),
        ({"steps": 0, "ridge": 0.0, "samples": 3, "readout_samples": "same"}, STAIRS),
        ({"width": 1, "samples": 1, "readout": "ones", "steps": 3}, STAIRS),
        ({"steps": 1, "samples": 3, "batches": "reused"}, Problem.of("h1", inputs=Spiked(0.0))),
    ],
)
@pytest.mark.parametrize("method", ["direct", "in-law"])
def test_the_smallest_sizes(options: dict[str, Any], problem: Problem, method: str) -> None:
    settings = GiantStep(**(SMALL | {"test_samples": 20} | options), method=method)
    run = simulate(problem, settings, seeds=1)
    assert run.metrics["overlap"].shape == (1, settings.steps + 1, problem.target.rank)
    assert np.all(np.isfinite(run.metrics["overlap"]))


def test_any_jax_function_is_an_activation() -> None:
    import jax.numpy as jnp

    named, given = (
        simulate(STAIRS, GiantStep(**SMALL, activation=sigma), seeds=2).metrics["overlap"]
        for sigma in ("tanh", jnp.tanh)
    )
    np.testing.assert_allclose(given, named, atol=1e-5)


@pytest.mark.parametrize("method", ["direct", "in-law"])
def test_new_numbers_compile_nothing(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    traces = 0
    original = Target.jax

    def counted(self: Target, *arguments: Any) -> Any:
        nonlocal traces
        traces += 1
        return original(self, *arguments)

    monkeypatch.setattr(Target, "jax", counted)
    settings = GiantStep(**SMALL, method=method, ridge=0.1, test_samples=64, activation="gelu")
    simulate(STAIRS, settings, seeds=2)
    assert 1 <= traces <= 3
    before = traces
    for change in ({"step_size": 3.5}, {"ridge": 7.0}, {"steps": 3}, {"readout": "normal"}):
        simulate(STAIRS, settings.replace(**change), seeds=2)
    simulate(Problem.of("h1 + h1*h2", noise=0.9), settings, seeds=2, seed=8)
    if method == "in-law":
        simulate(STAIRS, settings.replace(dim=10**9), seeds=2)
    assert traces == before


def test_spiked_and_spherical_inputs_have_their_law() -> None:
    with ThreadPoolExecutor(1) as executor:
        for inputs, first in ((Spiked("d"), 41.0), (Sphere(), 1.0)):
            resolved = plan_giant_steps(Problem.of("h1", inputs=inputs), GiantStep(dim=40, width=2))
            (sample,) = Batches(resolved, Draws([0], executor), "float64").stream(
                Role.BATCH, 1, 20_000, 40
            )
            x, latent = sample.inputs[0], sample.latent[0, :, 0]
            assert np.mean(x[:, 0] ** 2) == pytest.approx(first, rel=0.05)
            assert np.mean(x[:, 1] ** 2) == pytest.approx(1, rel=0.05)
            assert np.mean(latent**2) == pytest.approx(1, rel=0.05)
            if isinstance(inputs, Sphere):
                np.testing.assert_allclose(np.sum(x**2, axis=1), 40)


@pytest.mark.parametrize(
    ("options", "problem", "words"),
    [
        ({"dim": None}, STAIRS, ("dim is missing", "needs dim")),
        ({"dim": 1}, STAIRS, ("dim = 1", "2 directions")),
        ({"width": 5}, STAIRS, ("width = 5", "even")),
        ({"width": "0.001d"}, STAIRS, ("width", "at least 1")),
        ({"samples": "d^13"}, STAIRS, ("samples", "too large")),
        ({"activation": "rleu"}, STAIRS, ("activation", "rleu")),
        ({"method": "in-law"}, Problem.of("h1", inputs=Sphere()), ("in-law", "direct")),
        ({"step_size": "1e12", "activation": "He3"}, STAIRS, ("overflowed", "lower step_size")),
    ],
)
def test_what_cannot_run_gets_one_clear_line(
    options: dict[str, Any], problem: Problem, words: tuple[str, ...]
) -> None:
    with pytest.raises(GiantstepError) as caught:
        simulate(problem, GiantStep(**(SMALL | options)), seeds=1)
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in words), message


def test_a_target_that_is_not_finite_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Target.numpy
    monkeypatch.setattr(
        Target,
        "numpy",
        lambda self, h, z=None: np.where(h[..., 0] > 2, np.nan, original(self, h, z)),
    )
    with pytest.raises(GiantstepError, match="not finite at h1="):
        simulate(STAIRS, GiantStep(**SMALL), seeds=1)


def test_memory_is_that_of_the_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    machine = cost.machine_bytes()
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(cost, "CGROUP_LIMIT", limit)
    for text, expected in (("max", machine), (str(2**20), 2**20)):
        limit.write_text(text + "\n")
        assert cost.machine_bytes() <= expected
    with pytest.raises(
        SettingsError, match="this needs about 2 MiB of memory and the machine has 1 MiB"
    ):
        cost.Cost(2 * 2**20, 1.0, "this", "buy more").check()


def test_detrending_hides_the_linear_part_and_the_predictor_adds_it_back() -> None:
    settings = GiantStep(dim=200, samples="40d", width=20, steps=1, step_size=2, ridge=0.1)
    problem = Problem.of("h1")
    plain = simulate(problem, settings, seeds=4)
    hidden = simulate(problem, settings.replace(detrend=True), seeds=4)
    assert plain.mean("overlap")[1, 0] > 0.6
    assert hidden.mean("overlap")[1, 0] < 0.1
    # What is left of a linear target is the error of its estimate, about d/n.
    assert hidden.mean("test_error")[1] < 0.05


@pytest.mark.parametrize("biases", ["none", "normal", "uniform"])
@pytest.mark.parametrize("readout", ["ones", "sign", "symmetric-sign", "normal", "-1:0.25,3:0.75"])
def test_the_start_has_the_law_asked_for(biases: str, readout: str) -> None:
    settings = GiantStep(dim=50, width=400, biases=biases, readout=readout)
    with float64(), ThreadPoolExecutor(1) as executor:
        runs = DirectRun(plan_giant_steps(STAIRS, settings), Draws([0], executor))
    a, b = runs._neurons.readout[0], runs._neurons.biases[0]
    spread = {"none": 0.0, "normal": 1.0, "uniform": 3**-0.5}[biases]
    assert np.std(b) == pytest.approx(spread, rel=0.15)
    mean = {"ones": 1.0, "-1:0.25,3:0.75": 2.0}.get(readout, 0.0)
    assert np.mean(a) == pytest.approx(mean, abs=0.3)
    if readout == "symmetric-sign":
        rows = np.asarray(runs.weights[0])
        np.testing.assert_array_equal(rows[:200], rows[200:])
        np.testing.assert_array_equal(b[:200], b[200:])
        np.testing.assert_array_equal(a[:200], -a[200:])


@pytest.mark.parametrize(
    "change", [{"width": 6}, {"width": 8, "detrend": True}, {"width": 10, "forget": True}]
)
def test_a_new_size_compiles_large_programs_only(
    change: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Zeros, sums and products of a few arrays took a quarter of the time of a first simulation."""
    settings = GiantStep(samples=70, method="direct", **change)
    log = logging.getLogger("jax")
    log.addHandler(caplog.handler)
    try:
        with jax.log_compiles():
            simulate(STAIRS, settings.replace(dim=31), seeds=3)
            caplog.clear()
            simulate(STAIRS, settings.replace(dim=33), seeds=3)
    finally:
        log.removeHandler(caplog.handler)
    said = [record.getMessage().split() for record in caplog.records]
    names = {words[1] for words in said if words[0] == "Compiling"}
    assert "jit(_simulated_pull)" in names
    assert names <= {"jit(_simulated_pull)", "jit(_simulated_label_sums)", "jit(_move_neurons)"}

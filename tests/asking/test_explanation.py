"""`explain`: its keys, its words, invariance under rotations, speed, and no trace left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from giantstep.errors import GiantstepError, NoTheory, SettingsError
from giantstep.explanation.explain import explain
from giantstep.explanation.text import explanation_headline
from giantstep.language.inputs import Hypercube
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.theory.learnability.staircase import Stair, Staircase

KEYS = [
    *("target", "directions", "noise", "mean", "variance", "hermite_energy", "energy_beyond"),
    *("label_noise", "dimension"),
    *("information_exponent", "staircase", "leap", "generative_exponent", "grand_staircase"),
    *("class", "alpha_c", "thresholds", "samples", "sample_statuses", "unseen", "repetition"),
]


def test_json_has_exactly_the_keys() -> None:
    found = explain("h1 + He3(h1)*h2").to_json()
    assert list(found) == KEYS
    assert list(explain("h1", floors=True).to_json()) == [*KEYS, "floors"]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["directions"] == 2
    assert len(found["hermite_energy"]) == 9
    algorithms = ["correlations", "one_pass_sgd", "one_giant_step", "giant_steps", "repetition"]
    assert list(found["samples"]) == [*algorithms, "amp"]
    floor = explain("h1", floors=True).to_json()["floors"][0]
    assert set(floor) == {"samples", "width", "steps", "directions", "kappa", "fitted", "floor"}


@pytest.mark.parametrize(
    ("text", "noise", "expected"),
    [
        ("sin(h1)", 0.0, {"class": "trivial", "alpha_c": 0.0, "leap": 1}),
        ("abs(h1)", 0.0, {"class": "easy", "leap": 2, "information_exponent": 2}),
        (
            "sign(h1*h2*h3)",
            0.0,
            {"class": "hard", "alpha_c": None, "leap": 3, "generative_exponent": 3},
        ),
        ("h1 + h1*h2 + h1*h3", 0.0, {"dimension": 2, "directions": 3, "leap": 1}),
        ("h1 + He10(h2)", 0.0, {"dimension": 2, "leap": 10, "information_exponent": 1}),
        ("h1*z1", 0.0, {"information_exponent": None, "leap": None, "class": "easy"}),
        ("He4(h1)", 0.1, {"noise": 0.1, "generative_exponent": 2, "information_exponent": 4}),
    ],
)
def test_facts(text: str, noise: float, expected: dict) -> None:
    found = explain(text, noise=noise).to_json()
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("text", "classes", "hardest", "alpha"),
    [
        ("h1 + He2(h2)", ["trivial", "easy"], "easy", 0.0),
        ("h1 + h1*h2", ["trivial"], "trivial", 0.0),
        ("sign(h1) + 4*sign(h2*h3*h4)", ["trivial", "hard"], "hard", 0.0),
        ("h1**2 + sign(h1*h2*h3)", ["easy", "easy"], "easy", 0.575166),
        ("sign(h1*h2*h3)", ["hard"], "hard", None),
    ],
)
def test_each_stair_has_its_class(
    text: str, classes: list[str], hardest: str, alpha: float | None
) -> None:
    """The class of the target is that of its hardest stair, alpha_c belongs to the first."""
    found = explain(text).to_json()
    assert [stair["class"] for stair in found["grand_staircase"]] == classes
    assert found["class"] == hardest
    assert found["alpha_c"] == (None if alpha is None else pytest.approx(alpha, rel=1e-4))


def test_a_target_with_an_easy_direction_is_nowhere_called_trivial() -> None:
    found = explain("h1 + He2(h2)")
    assert found.difficulty == "easy"
    drawn = [line for line in found.report().splitlines() if "────" in line]
    assert any("h2 (easy)" in line for line in drawn)
    assert any("h1" in line and "(trivial)" in line for line in drawn)


def test_an_explanation_as_a_table_and_as_a_picture() -> None:
    found = explain("h1 + He2(h2)")
    table = found.to_frame().set_index(["staircase", "directions"])
    assert table.leap.to_dict() == {
        **{("staircase", "h1"): 1, ("staircase", "h2"): 2},
        **{("grand_staircase", "h1"): 1, ("grand_staircase", "h2"): 2},
    }
    assert table.samples["staircase"].tolist() == ["d", "d^2"]
    assert table["class"]["grand_staircase"].tolist() == ["trivial", "easy"]
    assert table.alpha["grand_staircase", "h1"] == 0
    axes = Figure().subplots()
    assert found.plot("grand_staircase", ax=axes) is axes
    assert any("trivial" in text.get_text() for text in axes.texts)
    with pytest.raises(GiantstepError, match="use staircase or grand_staircase"):
        found.plot("overlap")


def test_every_threshold_of_a_stair_has_its_line() -> None:
    found = explain("h1*h2")
    table = found.to_frame()
    grand = table[table.staircase == "grand_staircase"]
    assert grand.alpha.iloc[0] == pytest.approx(found.alpha_c.value)
    assert len(grand) == len(found.thresholds)


def test_sampled_stairs_say_so() -> None:
    """Whatever found the stairs of this staircase, it says that sampling did."""
    exact = explain("h1*h2")
    stairs = (Stair(np.eye(2), (0.5,), sampled=True, error=0.01, leap=2),)
    found = replace(exact, grand_staircase=Staircase(stairs, 2, 8, "sampled", open_end=False))
    (told,) = found.to_json()["grand_staircase"]
    assert (told["sampled"], told["error"]) == (True, 0.01)
    assert "Found by sampling, not proved: h1, h2 (sine of the angle to the truth: ± 0.01)" in (
        found.report()
    )
    assert found.complexities["amp"].status == "heuristic"
    assert exact.complexities["amp"].status == "theorem"
    assert "sampling" not in exact.report()


def test_sample_scalings() -> None:
    assert explain("h1 + He2(h1) + h2 + He2(h2)").samples == {
        "correlations": "d",
        "one_pass_sgd": "d log d",
        "one_giant_step": "d for 1 of 2 directions",
        "giant_steps": "d, then d^2",
        "repetition": "d for 1 of 2 directions, d log d for 1 more",
        "amp": "alpha d with any alpha > 0, then alpha d above an unknown alpha",
    }
    assert explain("sign(h1*h2*h3)").samples == {
        "correlations": "d^1.5",
        "one_pass_sgd": "d^2",
        "one_giant_step": "d^3",
        "giant_steps": "d^3 in one step",
        "small_batches": "d^2.33, d^2.14, d^2.07 in each of 2, 3, 4 steps",
        "repetition": "nothing is learned at n of order d log d",
        "amp": "d^1.5",
    }
    assert explain("sign(h1*h2)").samples["amp"] == "2.467 d"
    assert explain("He3(h1)").samples["repetition"] == "d"
    assert explain("He4(h1)").samples["repetition"] == "d log d"
    assert "more than 3" in explain("h1 + h2*h3*h4").samples["repetition"]
    assert explain("h1 + He10(h2)").samples["one_pass_sgd"] == "d^9"
    assert "not seen up to degree" in explain("h1 + h2*z1").samples["one_pass_sgd"]


@pytest.mark.parametrize(
    ("text", "statuses"),
    [
        ("h1**2", [*["theorem"] * 4, "heuristic", "theorem", "theorem"]),
        (
            "h1 + He3(h1)*h2",
            ["conjecture", "conjecture", "theorem", "conjecture", "heuristic", "theorem"],
        ),
        (
            "sign(h1*h2*h3)",
            ["theorem", "conjecture", *["theorem"] * 2, *["heuristic"] * 2, "conjecture"],
        ),
        (
            "h1**2 + sign(h1*h2*h3)",
            [*["conjecture"] * 2, "theorem", "conjecture", *["heuristic"] * 2, "replica"],
        ),
    ],
)
def test_sample_sizes_carry_status_and_paper(text: str, statuses: list[str]) -> None:
    found = explain(text)
    assert [known.status for known in found.complexities.values()] == statuses
    for known in found.complexities.values():
        source = f"[{known.status}; {known.reference}]"
        size = known.samples if "nothing" in known.samples else f"n ~ {known.samples}"
        assert f"  {known.algorithm}: {size} {source}" in found.report(True, 999)


@pytest.mark.parametrize(
    ("text", "beyond", "noise"),
    [
        ("sign(h1*h2*h3)", 0.5334, 0.0),
        ("h1 + He3(h1)*h2", 0.0, 0.0),
        ("abs(h1) + 0.5*z1", 0.007034, 0.25),
        ("sin(3*h1) + 0.2*h1", 0.3061, 0.0),
    ],
)
def test_energies_add_up_to_the_variance(text: str, beyond: float, noise: float) -> None:
    found = explain(text)
    parts = [*found.hermite_energy[1:], found.energy_beyond, found.label_noise]
    assert sum(part.value for part in parts) == pytest.approx(found.variance.value, rel=1e-9)
    assert found.energy_beyond.value == pytest.approx(beyond, abs=1e-4)
    assert found.label_noise.value == pytest.approx(noise, abs=1e-9)
    assert ("beyond degree 8" in found.report()) == (beyond > 0)


def test_words_are_defined_where_they_first_appear() -> None:
    text = explain("h1**2 + sign(h1*h2*h3)").report()
    assert "The leap of a stair counts" in text
    assert text.count("alpha above a threshold") == 1
    assert "easy (found from n = alpha d" in text
    assert "trivial" not in text
    assert "hard (not found at n of order d" in explain("sign(h1*h2*h3)").report()


def test_internals_are_told_on_request() -> None:
    found = explain("h1*h2", floors=True)
    assert "lines" not in found.report()
    assert "Method" not in found.report()
    assert "random lines" in found.report(verbose=True)
    assert "any function of h1" not in explain("h1 + He2(h2)", floors=True).report()


def test_floors_are_a_compact_table() -> None:
    """One row for each regime that differs, one column for each step that changes something."""
    text = explain("h1 + He2(h2)", floors=True).report()
    table = [line.split() for line in text[text.index("Error that the readout") :].splitlines()[2:]]
    assert table == [
        ["d", "1", "3", "2"],
        ["d", "d,", "d^2", "2", "2"],
        ["d^2", "1", "3", "0"],
        ["d^2", "d", "2", "0"],
        ["d^2", "d^2", "0", "0"],
    ]


@pytest.mark.parametrize(
    ("text", "unseen"),
    [
        ("He3(h1)", [[1.0]]),
        ("h1 + He2(h1)*h2", [[0.0, 1.0]]),
        ("h1 + He3(h1)*h2", []),
        ("He2(h1) + h2", []),
        ("He4(h1) + sign(h1*h2*h3)", [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    ],
)
def test_directions_that_the_default_activation_does_not_see(text: str, unseen: list) -> None:
    """relu has no Hermite coefficient of odd degree above one."""
    found = explain(text)
    assert found.to_json()["unseen"] == {"activation": "relu", "directions": unseen}
    assert ("Warning: relu" in found.report()) == bool(unseen)


def test_every_number_carries_its_method_and_error() -> None:
    found = explain("h1*h2*h3")
    assert found.variance.method == "closed form"
    assert "Monte Carlo" in found.alpha_c.method
    assert 0 < found.alpha_c.error < 0.02 * found.alpha_c.value
    assert "Gauss" in explain("tanh(h1)").hermite_energy[1].method
    assert explain("tanh(h1)").hermite_energy[1].error < 1e-12


def test_report_says_first_next_and_never() -> None:
    text = explain("h1 + He2(h1) + h2 + He2(h2)", floors=True).report()
    assert "First (h1 + h2)/sqrt(2): n ~ d in one giant step" in text
    assert "Then (h1 - h2)/sqrt(2): n ~ d^2 in one giant step, n ~ d log d" in text
    assert "by gradient steps on fresh samples: (h1 - h2)/sqrt(2)" in text
    assert "Error that the readout cannot go below" in text
    riser = next(line for line in text.splitlines() if "┘" in line)
    tread = next(line for line in text.splitlines() if "┌" in line)
    assert riser.index("┘") == tread.index("┌")
    assert "by any known efficient algorithm: h1, h2, h3" in explain("sign(h1*h2*h3)").report()


def test_problems_and_inputs() -> None:
    problem = Problem.of("h1**2", noise=0.5)
    assert explain(problem).alpha_c.value == pytest.approx(0.57799, rel=1e-4)
    assert explain(Target("h1**2"), noise=0.5).to_json() == explain(problem).to_json()
    with pytest.raises(NoTheory, match="explained for gaussian"):
        explain(Problem(Target("sign(h1*h2)"), 0.0, Hypercube()))
    with pytest.raises(SettingsError, match="noise"):
        explain("h1", noise=-1.0)


POLYNOMIALS = (
    "h1*h2",
    "h1 + He3(h1)*h2",
    "h1 + He2(h1) + h2 + He2(h2)",
    "h1 + h1*h2 + h1*h3",
    "He2(h1)*h2 + h3**2",
)


def rotated(text: str, rotation: np.ndarray) -> str:
    """The target with every h_i replaced by row i of the rotation applied to h."""
    for i in range(len(rotation)):
        text = text.replace(f"h{i + 1}", f"@{i}")
    for i, row in enumerate(rotation):
        text = text.replace(
            f"@{i}", "(" + " + ".join(f"({a:.17g})*h{j + 1}" for j, a in enumerate(row)) + ")"
        )
    return text


@settings(max_examples=4)
@given(st.sampled_from(POLYNOMIALS), st.integers(0, 10**6))
def test_rotations_change_nothing_but_the_directions(text: str, seed: int) -> None:
    rank = Target(text).rank
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((rank, rank)))
    before, after = explain(text, floors=True), explain(rotated(text, rotation), floors=True)
    one, two = before.to_json(), after.to_json()
    same = ("dimension", "information_exponent", "leap", "generative_exponent", "class")
    assert {key: one[key] for key in same} == {key: two[key] for key in same}
    for key in ("mean", "variance", "hermite_energy"):
        np.testing.assert_allclose(two[key], one[key], atol=1e-10)
    np.testing.assert_allclose(
        [row["floor"] for row in two["floors"]],
        [row["floor"] for row in one["floors"]],
        atol=1e-10,
    )
    if before.alpha_c is None:
        assert after.alpha_c is None
    else:
        allowed = 5 * (before.alpha_c.error + after.alpha_c.error)
        assert allowed <= 0.05 * before.alpha_c.value
        assert abs(after.alpha_c.value - before.alpha_c.value) <= allowed
    for key, distance in (("staircase", 1e-6), ("grand_staircase", 2e-2)):
        assert [s["leap"] for s in one[key]] == [s["leap"] for s in two[key]]
        for left, right in zip(one[key], two[key], strict=True):
            turned = np.array(left["directions"]) @ rotation
            projectors = turned.T @ turned, np.array(right["directions"])
            difference = projectors[0] - projectors[1].T @ projectors[1]
            assert np.linalg.norm(difference, 2) < distance


def test_a_fresh_process_imports_nothing_slow() -> None:
    """How long it takes is a benchmark; what would make it long must not come in."""
    code = (
        "import sys\n"
        "from giantstep.explanation.explain import explain\n"
        "for text in sys.argv[1:]:\n"
        "    assert explain(text).to_json() == explain(text).to_json()\n"
        "assert not {'jax', 'sympy', 'scipy.stats'} & set(sys.modules)\n"
    )
    texts = ("sin(3*h1) + 0.2*h1", "h1*h2", "He4(h1) + sign(h1*h2*h3)", "max(h1, h2, h3)")
    subprocess.run([sys.executable, "-c", code, *texts], check=True)


def test_no_trace_is_left_behind() -> None:
    errors, state = np.geterr(), np.random.get_state()  # noqa: NPY002
    explain("h1*h2 + abs(h1)", seed=5)
    assert np.geterr() == errors
    for before, now in zip(state, np.random.get_state(), strict=True):  # noqa: NPY002
        np.testing.assert_array_equal(before, now)
    if "jax" in sys.modules:
        import jax

        assert not jax.config.jax_enable_x64


def test_repetition_is_explained() -> None:
    found = explain("He4(h1)")
    best = found.to_json()["repetition"][0]
    assert (best["activation"], best["lookahead"], best["sign"]) == ("abs", 0.3, -1)
    assert best["samples"] == "d log d"
    assert best["directions"] == [[1.0]]
    assert "1.71 d log d by growth at rate 0.292" in found.report(True, 999)
    assert "4.17 d log d by growth at rate 0.12, step size 0.256 (relu" in found.report(True, 999)
    hard = explain("h1**2*exp(-h1**2)")
    assert hard.to_json()["repetition"] == []
    assert "neither force nor growth" in hard.report(verbose=True)
    signs = explain("sign(h1*h2)").report(True, 999)
    assert "Not by tanh, erf2, erf, sigmoid, sin, He3 (odd: " in signs


def test_the_answer_comes_first_and_fits_the_terminal() -> None:
    found = explain("h1 + He3(h1)*h2")
    lines = found.report().splitlines()
    assert lines[1].startswith("Giant steps on fresh samples learn h1, then h2 from n ~ d; message")
    for width in (40, 60, 96):
        for verbose in (False, True):
            text = found.report(verbose, width)
            assert all(len(line) <= width for line in text.splitlines() if "──" not in line)
    # The words of the field stand where they are told, or behind --verbose.
    assert "CSQ" not in found.report()
    assert "look ahead" not in found.report()
    told = found.report(verbose=True, width=999)
    assert told.index("CSQ: algorithms that use averages") < told.index("(CSQ bound)")
    assert told.index("a force moves it from overlap zero") < told.index("by a force of")


def test_symmetric_targets_get_symmetric_sentences() -> None:
    text = explanation_headline(explain("sign(h1*h2)"))
    assert text == (
        "Giant steps on fresh samples learn h1, h2 from n ~ d^2; message passing finds h1, h2 "
        "beyond n = 2.47 d."
    )

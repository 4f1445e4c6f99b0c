"""The law of the inputs, for every learner: used and recorded, or refused in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from smallest import asked_by
from typer.testing import CliRunner

from giantstep.asking.studies.study import Study
from giantstep.asking.table import LEARNERS, Learner, learner_to_ask
from giantstep.asking.verbs import predict, simulate
from giantstep.cli.main import app
from giantstep.errors import GiantstepError

#: Isotropic Gaussian inputs are what every other test is about.
LAWS = ("sphere", "spiked:2", "spiked:strength=2,alignment=0.5", "hypercube:boost=2")
#: What these learners are known to cover, and all that they cover.
SIMULATED = {
    "giant-step": LAWS,
    "online-sgd": (),
    "mean-field": (),
    "repetition": (),
    "spiked-random-features": (),
    "random-features": LAWS,
    "kernel": LAWS,
    "amp": LAWS[:1],
    "spectral": LAWS[:1],
    "gradient-flow": LAWS[1:3],
    "pca": LAWS,
    "langevin": LAWS,
    "three-layer": (),
}
PREDICTED = {**SIMULATED, "giant-step": (), "random-features": LAWS[:2], "kernel": LAWS[:2]}
PREDICTED |= {"pca": LAWS[1:3], "langevin": LAWS[3:]}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "row", [row for row in LEARNERS if row.has_target], ids=lambda row: row.name
)
def test_a_law_is_used_or_refused(row: Learner, law: str) -> None:
    settings, problem = asked_by(row, row.smallest[0])
    if law.startswith("hypercube") and not row.has_tree:
        problem["problem"] = "sign(h1)"  # labels there are parities
    for verb, covered in ((simulate, SIMULATED), (predict, PREDICTED)):
        more: dict[str, Any] = {"seeds": 1} if verb is simulate else {}
        try:
            found: Any = verb(settings, **{**problem, "inputs": law}, **more)
        except GiantstepError as error:
            used, message = False, str(error)
            assert f"inputs = {law}" in message
            assert "\n" not in message
            if law.startswith("spiked"):
                assert message.endswith(")"), "why it cannot is not said"
        else:
            used = True
            assert found.problem.inputs.name == law.partition(":")[0]
        assert row.name not in covered or used == (law in covered[row.name])


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "amp", "--target", "abs(h1)", "--phases"),
        (
            "spectrum",
            "weights",
            "--target",
            "h1",
            "--dim",
            "30",
            "--width",
            "1d",
            "--readout",
            "sign",
        ),
        ("spectrum", "spiked-features", "--target", "h1", "--dim", "30"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_every_verb_takes_the_option(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*words, "--inputs", "spiked:3"])
    assert result.exit_code == 2
    assert result.stderr.startswith("giantstep: inputs = spiked:3: ")
    assert result.stderr.count("\n") == 1


def test_the_command_line_records_the_problem_beside_the_settings() -> None:
    words = "simulate kernel --target h1 --samples 1d --dim 20 --seeds 2 --inputs spiked:d^0.5"
    result = CliRunner().invoke(app, [*words.split(), "--json"])
    answer = json.loads(result.stdout)
    assert answer["problem"] == {
        "target": "h1",
        "noise": 0,
        "inputs": {"law": "spiked", "strength": "d^0.5"},
    }
    assert not set(answer["problem"]) & set(answer["settings"])


def test_a_study_tells_laws_apart() -> None:
    study = Study(
        name="laws",
        learner="kernel",
        problem="h1",
        settings={"dim": 20},
        axes={"inputs": ["gaussian", *LAWS]},
        seeds=1,
    )
    assert [block.coordinates["inputs"] for block in study.blocks()[::2]] == ["gaussian", *LAWS]
    assert len({key for block in study.blocks() for key in block.keys}) == 2 * (1 + len(LAWS))


def test_a_power_law_takes_no_target() -> None:
    settings = learner_to_ask("power-law").load("settings")(samples=100)
    assert predict(settings, noise=0.1).problem.to_json() == {"noise": 0.1}
    for given in ({"problem": "h1"}, {"inputs": "sphere"}):
        with pytest.raises(GiantstepError, match="power-law takes no target"):
            predict(settings, **given)
    assert CliRunner().invoke(app, ["predict", "power-law", "--target", "h1"]).exit_code == 2
    with pytest.raises(GiantstepError, match="giant-step needs a target"):
        predict(learner_to_ask("giant-step").load("settings")())

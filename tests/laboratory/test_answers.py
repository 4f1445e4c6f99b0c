"""What the lab answers is what the verbs say."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from laboratory.visits import RANDOM_FEATURES, events, told_of, visitor

import giantstep as gs
from giantstep.asking.table import LEARNERS, Learner
from giantstep.asking.workers.backlog import DONE, Outcome
from giantstep.laboratory import work
from giantstep.laboratory.describe import WITH_NEURONS, lab_controls
from giantstep.laboratory.launch import Lab
from giantstep.laboratory.limits import LabLimits
from giantstep.laboratory.take_away import lab_in_python

SEEDS = {"seeds": 8}


def do(verb: str, arguments: dict[str, Any]) -> Outcome:
    return work.do_for_lab((verb, arguments), lambda share: None)


def test_every_learner_of_the_table_has_controls(client: httpx.Client) -> None:
    told = client.get("/learners").json()
    assert [row["name"] for row in told["learners"]] == [row.name for row in LEARNERS]
    for row in told["learners"]:
        assert row["axis"] in row["axes"]
        for control in row["controls"]:
            if control["slider"]:
                assert control["slider"]["low"] < control["slider"]["high"]


@pytest.mark.parametrize("row", LEARNERS, ids=lambda row: row.name)
def test_every_axis_that_is_offered_can_be_drawn(row: Learner) -> None:
    """What the page asks first when a learner is chosen, for each x axis."""
    told = next(each for each in lab_controls()["learners"] if each["name"] == row.name)
    rules = {rule["name"]: rule for rule in told["controls"]}
    chosen = {n: r["value"] for n, r in rules.items() if r["value"] not in (None, r["default"])}
    problem = {"target": "h1", **told["problem"]} if row.has_target else {}
    for axis in told["axes"]:
        swept = {axis: rules[axis]["range"]} if axis in rules else {}
        question = {"learner": row.name, "settings": {**chosen, **swept}, "problem": problem}
        outcome = do("outline", {**question, **SEEDS, "between": 41})
        assert outcome.status == DONE, f"{axis}: {outcome.error}"
        assert (len(outcome.value["points"]) > 1) == (axis in rules)


def test_a_target_is_read_as_it_is_typed(client: httpx.Client) -> None:
    found = client.post("/target", json={"target": "x_1 x_2"}).json()
    assert found["text"] == found["reading"] == "h1*h2"
    assert "<msub>" in found["mathml"]
    wrong = client.post("/target", json={"target": "h1 + snh(h2)"})
    assert wrong.status_code == 422
    error = wrong.json()["error"]
    assert error["position"] == 5
    assert "did you mean" in error["message"]


def test_explain_has_staircases_with_statuses(client: httpx.Client) -> None:
    found = client.post("/explain", json={"problem": {"target": "sign(h1*h2)"}}).json()
    assert found["class"] == "easy"
    assert found["thresholds"][0]["alpha"] == pytest.approx(gs.explain("sign(h1*h2)").alpha_c.value)
    assert all(row["status"] for row in found["samples"])
    assert [stair["leap"] for stair in found["staircases"][0]["stairs"]] == [2]


def test_the_line_is_what_predict_says(client: httpx.Client) -> None:
    told = events(client, "/theory", RANDOM_FEATURES)
    assert [told[0][0], told[-1][0]] == ["outline", "end"]
    outline = told[0][1]
    assert len(outline["x"]) >= 40
    assert [outline["x"][i] for i in outline["own"]] == [1, 2, 3, 4]
    points = {each["index"]: each["entries"] for each in told_of(told, "points")}
    assert len(points) == len(outline["x"])
    settings = gs.RandomFeatures(dim=40, samples="3d", width="1d", ridge=0.1)
    law = gs.predict(settings, "h1 + He2(h1)")
    shown = {metric: value for metric, _, value, _, _ in points[2]}
    assert shown["test_error"] == pytest.approx(law.metrics["test_error"], rel=1e-12)


def test_a_crowd_gets_coarse_lines_first(
    client: httpx.Client, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = {**RANDOM_FEATURES, "settings": {**RANDOM_FEATURES["settings"], "ridge": "0.07"}}
    with monkeypatch.context() as crowded:
        crowded.setattr(lab.desk, "crowd", 0)
        told = events(client, "/theory", question)
    outline, end = told[0][1], told[-1][1]
    drawn = [each["index"] for each in told_of(told, "points")]
    assert drawn == list(range(7))
    assert sorted(outline["x"][i] for i in drawn) == pytest.approx([1, 1.5, 2, 2.5, 3, 3.5, 4])
    assert end["left"] == len(outline["x"]) - 7
    # Asked again in a quiet moment, what is missing comes.
    told = events(client, "/theory", question)
    assert sorted(each["index"] for each in told_of(told, "points")) == list(
        range(len(outline["x"]))
    )
    assert told[-1][1]["left"] == 0


def test_dots_are_what_simulate_says(client: httpx.Client, lab: Lab) -> None:
    told = events(client, "/simulate", {**RANDOM_FEATURES, "seeds": 3})
    assert told[-1][0] == "end"
    dots = {each["index"]: each for each in told_of(told, "dots")}
    assert [dots[i]["seeds"] for i in range(4)] == [3, 3, 3, 3]
    settings = gs.RandomFeatures(dim=40, samples="2d", width="1d", ridge=0.1)
    pair = gs.compare(settings, "h1 + He2(h1)", seeds=3)
    line = next(line for line in pair.compared() if line.metric == "test_error")
    shown = next(e for e in dots[1]["entries"] if e[0] == "test_error")
    assert shown[2:] == pytest.approx([line.mean, line.sem, line.deviation], rel=1e-9)
    # The second time nothing is computed, whoever asks.
    with visitor(lab) as somebody:
        again = events(somebody, "/simulate", {**RANDOM_FEATURES, "seeds": 3})
    assert {each["index"]: each["entries"] for each in told_of(again, "dots")} == {
        index: dot["entries"] for index, dot in dots.items()
    }
    assert [name for name, _ in again] == ["outline", "dots", "dots", "end"]


def test_no_theory_says_why_and_dots_still_run(client: httpx.Client) -> None:
    question = {
        "learner": "giant-step",
        "settings": {"dim": "20", "samples": "2d", "width": "4", "centre": True},
        "problem": {"target": "h1"},
    }
    told = dict(events(client, "/theory", question))
    assert "centre" in told["end"]["reasons"][0]
    dots = told_of(events(client, "/simulate", {**question, "seeds": 2}), "dots")
    assert dots[-1]["seeds"] == 2


def test_what_does_not_fit_is_refused_with_its_estimate(client: httpx.Client) -> None:
    large = {**RANDOM_FEATURES, "settings": {"dim": "20000", "samples": "4d", "width": "4d"}}
    told = events(client, "/simulate", {**large, "seeds": 1})
    assert told[-1][0] == "error"
    assert "GiB" in told[-1][1]["message"]
    larger = {**RANDOM_FEATURES, "settings": {"dim": "200000"}}
    status, body = events(client, "/simulate", {**larger, "seeds": 1})[0][1]
    assert status == 422
    assert "too large for the lab" in body["error"]["message"]


def test_the_command_and_the_python_give_the_same_experiment(client: httpx.Client) -> None:
    outline = events(client, "/theory", RANDOM_FEATURES)[0][1]
    words = "giantstep compare random-features --target 'h1 + He2(h1)' --dim 40 --samples 1d:4d:4"
    assert outline["command"].startswith(words)
    space: dict = {}
    code = outline["python"].replace("gs.compare", "gs.predict").replace(", seeds=8", "")
    exec(code.replace("result.plot()", ""), space)
    assert list(space["result"].axes["samples"].labels) == ["d", "2d", "3d", "4d"]


@pytest.mark.parametrize("row", LEARNERS, ids=lambda row: row.name)
def test_in_python_numbers_are_numbers(row: Learner) -> None:
    """What comes from the page are texts."""
    settings, _ = row.options(row.example)
    if row.name == "online-sgd":
        settings = {**settings, "start_overlap": 0}
    texts = {k: v if isinstance(v, bool) else str(v) for k, v in settings.items() if v is not None}
    code = lab_in_python(row, texts, {"target": "h1", "noise": "0.5"}, 8).splitlines()
    assert not re.search(r"='[-0-9.e]+'", "".join(code))
    assert "'h1', noise=0.5, seeds=8" in code[3]
    made = eval(code[2].removeprefix("settings = "), {"gs": gs})
    assert made == row.load("settings")(**texts)


def test_wrong_numbers_are_told_in_words(client: httpx.Client) -> None:
    for name, value, words in [
        ("noise", "much", "noise = 'much' is not a number"),
        ("noise", "-1", "noise"),
        ("inputs", "cauchy", "are unknown: use gaussian"),
    ]:
        answer = client.post("/explain", json={"problem": {"target": "h1", name: value}})
        assert answer.status_code == 422
        assert words in answer.json()["error"]["message"]


def test_a_learner_of_trees_has_its_line() -> None:
    row = next(row for row in LEARNERS if row.has_tree)
    settings, problem = row.options(row.example)
    outline = do("outline", {"learner": row.name, "settings": settings, "problem": problem} | SEEDS)
    assert do("predict", {"point": outline.value["points"][0]}).status == DONE


def test_spectra_and_neurons(client: httpx.Client) -> None:
    settings = {"dim": "60", "samples": "4d", "width": "1d", "activation": "tanh"}
    question = {
        "learner": "giant-step",
        "settings": {**settings, "readout": "sign", "step_size": "2"},
        "problem": {"target": "sin(h1)"},
    }
    told = dict(events(client, "/spectrum", {**question, "of": "weights", "seeds": 2}))
    assert told["predicted"]["outliers"]["predicted"]
    assert [len(values) for values in told["both"]["simulated"]] == [60, 60]
    cloud = {**question, "settings": {"dim": "60", "samples": "4d", "width": "10", "steps": "2"}}
    told = dict(events(client, "/neurons", cloud))
    assert len(told["cloud"]["cosines"]) == 3
    assert len(told["cloud"]["cosines"][0]) == 10
    assert len(told["spaces"]["subspaces"]) == 3
    without = {**RANDOM_FEATURES, "settings": {"dim": "40"}}
    assert "no neurons" in client.post("/neurons", json=without).json()["error"]["message"]


@pytest.mark.parametrize("row", [row for row in LEARNERS if row.name in WITH_NEURONS])
def test_learners_with_a_cloud_have_neurons(row: Learner) -> None:
    settings, problem = row.options(row.smallest[0])
    outline = do("outline", {"learner": row.name, "settings": settings, "problem": problem} | SEEDS)
    found = do("neurons", {"point": outline.value["points"][0], "seed": 0})
    assert found.status == DONE, found.error


@pytest.mark.parametrize(("across", "up"), [(9, 5), (5, 4)])
def test_the_rows_of_a_map_share_the_points_that_the_lab_draws(across: int, up: int) -> None:
    ranges = {"samples": f"1d:4d:{across}", "ridge": f"0.01:1:{up}log"}
    swept = {"dim": "40", "width": "1d", **ranges}
    question = {"learner": "random-features", "settings": swept, "problem": {"target": "h1"}}
    outline = do("outline", {**question, **SEEDS, "between": 41}).value
    assert outline["axis"] == "samples"
    assert across * up < len(outline["points"]) <= LabLimits().points

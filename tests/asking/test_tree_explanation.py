"""`explain` on trees."""

from __future__ import annotations

import pytest

import giantstep
from giantstep.errors import NoTheory, SettingsError
from giantstep.language.targets import TreeTarget


def test_a_tree_is_explained_with_its_sizes_floors_and_scenarios() -> None:
    found = giantstep.explain(TreeTarget("tree-authors"), dim=100)
    plain = found.to_json()
    assert plain["effective_dimensions"] == [100, 10, 1]
    assert plain["inner_shares"][2:4] == pytest.approx([0.75, 0.25])
    floors = plain["floors"]
    assert floors == sorted(floors, reverse=True)
    scenarios = {line["name"]: line for line in plain["scenarios"]}
    assert scenarios["first-layer"]["degree"] == 3
    assert scenarios["first-layer"]["floor"] == floors[2]
    assert scenarios["lazy"]["floor"] == floors[1]
    assert scenarios["second-layer"]["samples"] == "d^1.5"
    for number in (floors[1], floors[3]):
        assert f"{number:.3f}" in found.report()


def test_a_text_is_answered_alike() -> None:
    found = giantstep.explain("tree(tanh(u), He3(z), leaves=4)")
    assert isinstance(found, giantstep.TreeExplanation)
    assert found.threshold is None
    assert "no part along He2" in found.report(verbose=True)
    assert [line["name"] for line in found.to_json()["scenarios"]] == ["lazy"]


def test_what_does_not_go_with_a_tree_is_refused() -> None:
    tree = TreeTarget("tree-he2")
    with pytest.raises(NoTheory, match="a tree is explained for gaussian inputs alone"):
        giantstep.explain(tree, inputs="sphere")
    with pytest.raises(SettingsError, match="dim = 1: give a whole number"):
        giantstep.explain(tree, dim=1)
    with pytest.raises(SettingsError, match="only trees are explained at a dimension"):
        giantstep.explain("h1", dim=64)

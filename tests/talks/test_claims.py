"""The claims of the talks: their commands and figures exist, and their verdicts were measured."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from giantstep.asking.table import LEARNERS
from giantstep.cli import talks
from giantstep.cli.main import app
from giantstep.cli.talks import command_answer
from giantstep.gallery.figures import NAMES, figure_named
from giantstep.talks.claims import TALKS, Check, Claim, talk
from giantstep.talks.verdicts import claim_verdict, stored_verdicts

CLAIMS = [claim for name in TALKS for claim in talk(name)[1]]
#: Seconds of a processor beyond which a command is left to ``talks --check``.
CHEAP = 2.0
#: Commands that decide a claim; figures are drawn by the tests of the gallery.
COMMANDS = sorted(
    {
        claim.command
        for claim in CLAIMS
        if claim.command
        and (claim.figure or stored_verdicts().get(claim.key, {}).get("seconds", 0) < CHEAP)
    }
)


def test_every_claim_has_a_key_of_its_own_and_words() -> None:
    assert len({claim.key for claim in CLAIMS}) == len(CLAIMS) >= 150
    for name in TALKS:
        assert all(claim.key.startswith(f"{name}-") for claim in talk(name)[1])
    assert all(claim.erratum for claim in CLAIMS if claim.verdict == "misprint on the slide")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.key)
def test_commands_and_figures_exist(claim: Claim) -> None:
    assert not claim.figure or claim.figure in NAMES
    if claim.command:
        program, verb, *words = shlex.split(claim.command)
        assert program == "giantstep"
        learners = {row.name for row in LEARNERS}
        assert verb == "explain" or words[0] in {*learners, "weights", "features"}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.key)
def test_verdicts_come_from_a_run(claim: Claim) -> None:
    found = stored_verdicts().get(claim.key)
    assert claim_verdict(claim, found) == claim.verdict
    if not claim.is_shown:
        return
    assert found is not None
    read = {check.value for check in claim.checks}
    assert read <= set(found["measured"])
    # What was stored of a figure is what its caption claims today.
    drawn = set(found["measured"]) - read
    assert bool(drawn) == bool(claim.figure)
    if claim.figure:
        claims = figure_named(claim.figure).claims
        known = _sentences(inspect.getsource(inspect.getmodule(claims)))
        assert all(any(re.fullmatch(each, text) for each in known) for text in drawn), drawn
        # And what it claims today was stored.
        assert _claimed(inspect.getsource(claims)) <= drawn


def _sentences(source: str) -> list[str]:
    """Patterns of the texts in a module; what is filled in when it runs may be anything."""
    patterns = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            patterns.append(re.escape(node.value))
        if isinstance(node, ast.JoinedStr):
            parts = [
                re.escape(p.value) if isinstance(p, ast.Constant) else ".+" for p in node.values
            ]
            patterns.append("".join(parts))
    return patterns


def _claimed(source: str) -> set[str]:
    """The sentences that a function returns in a table, where nothing is filled in."""
    tables = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Dict)]
    keys = [key for table in tables for key in table.keys if isinstance(key, ast.Constant)]
    return {str(key.value) for key in keys}


def test_more_than_a_name_decides() -> None:
    """A setting that is read back, or a status, cannot fail: every claim needs another check."""
    said = ("status", "learner", "settings/")
    for claim in CLAIMS:
        if claim.checks:
            assert not all(check.value.startswith(said) for check in claim.checks), claim.key


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_answers_are_what_the_checks_expect(command: str) -> None:
    given = command_answer(command)
    for claim in CLAIMS:
        if claim.command == command:
            assert all(check.holds(given) for check in claim.checks), claim.measured(given, {})


def test_a_check_can_fail() -> None:
    given = {"metrics": {"overlap": [[0.0], [0.5]]}, "class": "easy"}
    assert Check("metrics/overlap/1/0", about=0.5, within=0.01).holds(given)
    assert not Check("metrics/overlap/1/0", about=0.6, within=0.01).holds(given)
    assert not Check("metrics/nothing/1", about=0.5, within=0.01).holds(given)
    assert Check("class", equal="easy").holds(given)
    assert not Check("class", equal="hard").holds(given)
    runs = Check("metrics/overlap/*/0", average="root mean square", about=0.5**1.5, within=1e-9)
    assert runs.holds(given)
    assert not dataclasses.replace(runs, average="mean").holds(given)


def test_a_fit_needs_power_and_the_right_exponent() -> None:
    """Runs that fall as d^(-1/2) with 5 % of scatter, and what a check makes of them."""
    rng = np.random.default_rng(3)
    dims = [100, 200, 400, 800]
    runs = (np.array(dims)[:, None] ** -0.5 * rng.normal(1, 0.05, (4, 16))).tolist()
    given = {"sweep": {"values": dims}, "metrics": {"overlap": {"values": runs}}}
    check = Check("metrics/overlap/values/*/*", about=-0.5, within=0.05, fit="power")
    assert check.holds(given)
    assert not dataclasses.replace(check, about=-0.4).holds(given)
    # A distance that the standard error does not resolve proves nothing.
    assert not dataclasses.replace(check, within=check.found(given)["sem"]).holds(given)
    assert not check.holds({"metrics": {"overlap": {"values": runs}}})


def test_the_command_lists_talks_and_refuses_others() -> None:
    shown = CliRunner().invoke(app, ["talks", "wu"])
    assert shown.exit_code == 0
    assert "Denny Wu" in shown.stdout
    assert "(definition; wu-krr)" in shown.stdout
    one = CliRunner().invoke(app, ["talks", "wu-krr"])
    assert one.stdout.count("; wu-") == 1
    refused = CliRunner().invoke(app, ["talks", "nobody"])
    assert refused.exit_code == 2
    assert len(refused.stderr.splitlines()) == 1


def test_what_was_checked_is_kept_when_the_rest_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(command: str) -> dict[str, object]:
        asked.append(command)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return {}

    monkeypatch.setattr(talks, "command_answer", answer)
    monkeypatch.setattr(
        talks, "_figure_claims_to_print", lambda name, scale: {f"{name} {scale}": True}
    )
    how = ["talks", "wu", "--check", "--full", "--keep", str(tmp_path)]
    ended = CliRunner().invoke(app, how)
    assert ended.exit_code != 0
    assert "hours" in ended.stderr
    assert list(json.loads((tmp_path / "verdicts.json").read_text())) == [
        "wu-krr",
        "wu-spiked-data",
    ]


@pytest.mark.parametrize("option", [["--full"], ["--keep", "folder"]])
def test_how_to_check_without_a_check_is_refused(option: list[str]) -> None:
    refused = CliRunner().invoke(app, ["talks", "wu", *option])
    assert refused.exit_code == 2
    assert "--check" in refused.stderr

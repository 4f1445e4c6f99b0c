"""The claims of the talks: their commands and figures exist, and their verdicts were measured."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from giantstep.asking.table import LEARNERS
from giantstep.cli.main import app
from giantstep.cli.talks import answer
from giantstep.gallery.figures import NAMES, figure_named
from giantstep.talks.claims import TALKS, Check, Claim, talk
from giantstep.talks.verdicts import stored, verdict

CLAIMS = [claim for name in TALKS for claim in talk(name)[1]]
#: Seconds of a processor beyond which a command is left to ``talks --check``.
CHEAP = 2.0
#: Commands that decide a claim; figures are drawn by the tests of the gallery.
COMMANDS = sorted(
    {
        claim.command
        for claim in CLAIMS
        if claim.command and (claim.figure or stored().get(claim.key, {}).get("seconds", 0) < CHEAP)
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
    found = stored().get(claim.key)
    assert verdict(claim, found) == claim.verdict
    if not claim.is_shown:
        return
    assert found is not None
    read = {check.value for check in claim.checks}
    assert read <= set(found["measured"])
    # What was stored of a figure is what its caption claims today.
    drawn = set(found["measured"]) - read
    assert bool(drawn) == bool(claim.figure)
    if claim.figure:
        known = _sentences(inspect.getsource(inspect.getmodule(figure_named(claim.figure).claims)))
        assert all(any(re.fullmatch(each, text) for each in known) for text in drawn), drawn


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


def test_more_than_a_name_decides() -> None:
    """A setting that is read back, or a status, cannot fail: every claim needs another check."""
    said = ("status", "learner", "settings/")
    for claim in CLAIMS:
        if claim.checks:
            assert not all(check.value.startswith(said) for check in claim.checks), claim.key


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_answers_are_what_the_checks_expect(command: str) -> None:
    given = answer(command)
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

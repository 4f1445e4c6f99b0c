"""Message passing and spectral methods at the command line: curves, transitions, errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from giantstep.cli.main import app


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def answer(*words: str) -> dict[str, Any]:
    code, out, err = run(*words, "--json")
    assert code == 0, err
    return json.loads(out)


def test_compare_lays_amp_over_state_evolution(tmp_path: Path) -> None:
    words = ("--target", "sign(h1)", "--dim", "100", "--samples", "2d", "--start", "random")
    found = answer("compare", "amp", *words, "--seeds", "3", "--out", str(tmp_path / "amp.png"))
    lines = {line["metric"]: line for line in found["comparison"]}
    assert lines["overlap_squared"]["place"] == {"direction": "h1"}
    assert {"overlap_squared", "test_error", "converged"} <= lines.keys()
    assert lines["overlap_squared"]["prediction"] == pytest.approx(0.728298, abs=1e-5)
    assert abs(lines["overlap_squared"]["mean"] - 0.728) < 0.2
    assert {"iterations", "fallback"} <= found["simulation"].keys()
    assert found["status"] == "theorem"


def test_a_curve_over_samples() -> None:
    found = answer("predict", "amp", "--target", "sign(h1*h2)", "--samples", "1d:6d:6")
    overlaps = [point[0] for point in found["metrics"]["overlap_squared"]]
    assert overlaps[:2] == [0, 0]
    assert overlaps[2:] == sorted(overlaps[2:])
    assert overlaps[3] == pytest.approx(0.643841, abs=1e-4)
    assert len(found["metrics"]["test_error"]) == 6


def test_phases_lists_transitions() -> None:
    found = answer("predict", "amp", "--target", "abs(h1)", "--phases")
    assert found["metrics"]["transitions"] == pytest.approx([0.5, 1.0, 1.1287], abs=2e-3)
    code, out, _ = run("predict", "amp", "--target", "abs(h1)", "--phases")
    assert code == 0
    assert "perfect recovery begins" in out
    spectral = answer("predict", "spectral", "--target", "sign(h1*h2)", "--phases")
    assert spectral["metrics"]["transitions"] == pytest.approx([2.4674, 2.4674], abs=1e-4)


def test_spectral_compares(tmp_path: Path) -> None:
    words = ("--target", "abs(h1)", "--dim", "100", "--samples", "2d:4d:2", "--seeds", "3")
    found = answer("compare", "spectral", *words, "--out", str(tmp_path / "spectral.png"))
    places = {(line["metric"], line["place"]["samples"]) for line in found["comparison"]}
    assert places >= {("overlap_squared", "2d"), ("eigenvalue", "4d")}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("simulate", "amp", "--target", "h1*h2*h3*h4", "--noise", "1", "--dim", "50"),
            "at most 3",
        ),
        (("predict", "amp", "--target", "h1*h2*h3*h4", "--noise", "1"), "at most 3"),
        (("predict", "amp", "--target", "sign(h1)", "--samples", "0d"), "samples"),
        (("predict", "amp", "--target", "sign(h1)", "--samples", "-2d"), "samples"),
        (("predict", "amp", "--target", "sign(h1)", "--samples", "d^2"), "proportional to d"),
        (("predict", "amp", "--target", "sign(h1)", "--start", "hot"), "start"),
        (("simulate", "amp", "--target", "sign(h1)"), "dim"),
        (("simulate", "amp", "--target", "sign(h1)", "--dim", "50", "--phases"), "phases"),
        (("simulate", "amp", "--target", "sign(h1)", "--dim", "50", "--damping", "1"), "damping"),
        (("simulate", "spectral", "--target", "abs(h1)"), "dim"),
        (("predict", "spectral", "--target", "abs(h1)", "--preprocessing", "f(y)"), "preprocess"),
    ],
)
def test_bad_input_gets_one_line(words: tuple[str, ...], expected: str) -> None:
    code, out, err = run(*words)
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert expected in err

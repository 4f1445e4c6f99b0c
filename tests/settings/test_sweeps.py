from __future__ import annotations

import pytest

from giantstep.errors import SettingsError
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.sweeps import sweep_values, swept
from giantstep.sizes import Size


@pytest.mark.parametrize(
    ("text", "coefficient", "power"),
    [
        ("4d", 4, 1),
        ("d", 1, 1),
        ("d^1.5", 1, 1.5),
        ("0.5*d^2", 0.5, 2),
        ("0.5d**2", 0.5, 2),
        ("4096", 4096, 0),
        ("1e6", 1e6, 0),
        (".5 d", 0.5, 1),
        ("3*d^-0.5", 3, -0.5),
        (7, 7, 0),
    ],
)
def test_sizes_are_read(text: str | int, coefficient: float, power: float) -> None:
    size = Size.parse(text)
    assert (size.coefficient, size.power) == (coefficient, power)
    assert Size.parse(str(size)) == size


@pytest.mark.parametrize(
    "text",
    ["", "n", "4n", "d^d", "-3", "0", "0d", "nan", "inf", "1e999", "d^1e9", "2**d", "9" * 200],
)
def test_other_texts_are_refused_by_name(text: str) -> None:
    with pytest.raises(SettingsError, match="samples = "):
        Size.parse(text, "samples")


def test_values_at_a_dimension() -> None:
    assert Size.parse("d^1.5").count(100) == 1000
    assert Size.parse("0.9d").ratio() == 0.9
    with pytest.raises(SettingsError, match="proportional to d"):
        Size.parse("d^2").ratio("samples")
    with pytest.raises(SettingsError, match="at least 1"):
        Size.parse("0.001d").count(10)


def test_sweeps_hold_both_ends() -> None:
    assert [s.coefficient for s in sweep_values("1e-4:10:6log", "ridge")] == pytest.approx(
        [1e-4, 1e-3, 1e-2, 0.1, 1, 10]
    )
    name, points = swept(GiantStep, {"samples": "1d:3d:3", "width": "8"})
    assert name == "samples"
    assert [str(p.samples) for p in points] == ["d", "2d", "3d"]


@pytest.mark.parametrize("text", ["1:2:0", "1:2:x", "0:1:3log", "1d:2:3", "1:2:999999999999"])
def test_bad_sweeps_are_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        sweep_values(text, "samples")


def test_one_sweep_at_a_time() -> None:
    with pytest.raises(SettingsError, match="one setting at a time"):
        swept(GiantStep, {"samples": "1d:3d:3", "ridge": "1:2:3"})
    with pytest.raises(SettingsError, match="cannot depend on d"):
        swept(GiantStep, {"ridge": "1d:2d:3"})

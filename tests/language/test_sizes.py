from __future__ import annotations

import pytest

from giantstep.errors import SettingsError
from giantstep.language.sizes import Size


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

"""Laws of the inputs: read from text and from plain values, written back, refused in one line."""

from __future__ import annotations

import pytest

from giantstep.errors import SettingsError
from giantstep.language.inputs import Gaussian, Hypercube, Inputs, Sphere, Spiked, read_inputs
from giantstep.language.sizes import Size

TEXTS: dict[str, Inputs] = {
    "gaussian": Gaussian(),
    " Sphere ": Sphere(),
    "spiked:3": Spiked(3),
    "spiked:d^0.5": Spiked(Size(1.0, 0.5)),
    "spiked:strength=0.5*d": Spiked("0.5d"),
    "spiked:0": Spiked(0.0),
    "spiked:strength=d^0.5,alignment=d^-0.25": Spiked("d^0.5", "d^-0.25"),
    "spiked:8, alignment=0.5": Spiked(8, 0.5),
    "spiked:8,alignment=0": Spiked(8, 0),
    "spiked:8,alignment=1": Spiked(8),
    "hypercube": Hypercube(1),
    "hypercube:boost=d^0.5": Hypercube("d^0.5"),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_law_is_read_and_written_back(text: str) -> None:
    law = read_inputs(text)
    assert law == TEXTS[text]
    assert read_inputs(str(law)) == read_inputs(law.to_json()) == read_inputs(law) == law


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("cube", "gaussian, sphere, spiked:STRENGTH"),
        ("spiked:4,alignment=1.5", "a number from 0 to 1"),
        ("spiked:4,alignment=d^0.5", "a number from 0 to 1"),
        ("spiked:4,alignment=-0.5", "alignment of the spike"),
        ("spiked:strength=-4,alignment=0.5", "strength of the spike"),
        ("hypercube:boost=-1", "boost of the target"),
        ("", "are unknown"),
        ("spiked", "strength is missing"),
        ("spiked:", "strength of the spike"),
        ("spiked:n^2", "strength of the spike"),
        ("spiked:-1", "strength of the spike"),
        ("spiked:3,power=2", "no number 'power'"),
        ("sphere:3", "no number '3'"),
        ({"law": "spiked", "power": 3}, "no number 'power'"),
        ({"strength": 3}, "are unknown"),
        (3, "are unknown"),
        ("x" * 5000, "are unknown"),
    ],
)
def test_what_is_no_law_gets_one_line(given: object, expected: str) -> None:
    with pytest.raises(SettingsError, match="inputs") as caught:
        read_inputs(given)  # type: ignore[arg-type]
    assert expected in str(caught.value)
    assert len(str(caught.value)) < 330
    assert "\n" not in str(caught.value)

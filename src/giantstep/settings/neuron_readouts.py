"""Readouts that are fixed neuron by neuron: equal, on twin rows, or given one by one."""

from __future__ import annotations

from giantstep.errors import SettingsError, shown

#: Readouts beyond this are a mistake.
LARGEST = 1e6


def listed_readouts(text: str) -> tuple[float, ...] | None:
    """The numbers of a list such as ``1,-1,1,-1``; None where the text is no such list."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        return None
    if not all(abs(value) <= LARGEST for value in values):
        raise SettingsError(
            f"readout = {shown(text)} is out of range: give numbers of at most {LARGEST:g}"
        )
    return values


#: No machine holds the rows of more.
MOST_NEURONS = 10**7


def neuron_readouts(text: str, width: int) -> tuple[float, ...] | None:
    """a_j of each neuron: ones, twins with 1 and -1, or the list; None where they are random.

    One number stands for every neuron.
    """
    if width > MOST_NEURONS:
        raise SettingsError(f"width = {width}: at most {MOST_NEURONS} neurons fit; lower --width")
    if text == "ones":
        return (1.0,) * width
    if text == "symmetric-sign":
        if width % 2:
            raise SettingsError(
                f"width = {width} is odd: symmetric-sign doubles every row, give an even --width"
            )
        return (1.0,) * (width // 2) + (-1.0,) * (width // 2)
    values = listed_readouts(text)
    if values is None or len(values) == width:
        return values
    if len(values) == 1:
        return values * width
    raise SettingsError(
        f"readout = {shown(text)} has {len(values)} values for {width} neurons: give one number "
        "for each neuron, such as 1,-1,1,-1, or one for all"
    )

"""Readouts that are fixed neuron by neuron: equal, on twin rows, or given one by one."""

from __future__ import annotations

from giantstep.errors import SettingsError, shown

#: Values, and the shares of each.
Pairs = tuple[tuple[float, ...], tuple[float, ...]]
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


def weighted_setting_values(name: str, text: str, remedy: str, most: float = LARGEST) -> Pairs:
    """The values and the shares of a text such as ``-1:0.3,2:0.7``."""
    try:
        pairs = [tuple(float(number) for number in pair.split(":")) for pair in text.split(",")]
        values, shares = zip(*[(value, share) for value, share in pairs], strict=True)
    except ValueError:
        raise SettingsError(f"{name} = {shown(text)} cannot be read: {remedy}") from None
    if not all(abs(value) < most for value in values):
        raise SettingsError(f"{name} = {shown(text)}: give values below {most:g}; {remedy}")
    if min(shares) <= 0 or not abs(sum(shares) - 1) <= 1e-6:
        raise SettingsError(f"{name} = {shown(text)}: the shares must sum to 1; {remedy}")
    return values, shares


#: No machine holds the rows of more.
MOST_NEURONS = 10**7


def readout_setting_by_neuron(text: str, width: int) -> tuple[float, ...] | None:
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

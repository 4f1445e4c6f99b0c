"""A spike repels the spherical gradient flow, and not the normalised one.

Overlap of one relu neuron with the target -He4(h1)/sqrt(24) along the population flow, from the
typical start d^(-1/2) at d = 1000, under a spike of strength theta along h1. On the sphere E f^2
grows with the overlap and drives the neuron back to the equator; dividing the pre-activation by its
standard deviation removes that force. Exact flows at {points} times.
"""

from __future__ import annotations

from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.panels import Side, overlay_panels
from giantstep.gallery.style import GREY

TARGET = "-He4(h1)/sqrt(24)"
DIM = 1000
EXPONENTS = (0.3, 0.5, 0.7)
GEOMETRIES = ("spherical", "normalised")


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Overlaps by geometry, exponent of the spike and time."""
    import numpy as np

    from giantstep.language.activations.activation import activation
    from giantstep.language.targets import Target
    from giantstep.numerics.ode import integrate
    from giantstep.theory.gradient_flow.population_flows import FLOWS, Spike, flow_overlap

    times = np.geomspace(1e-4, 30, sizes.points)
    for geometry in GEOMETRIES:
        for exponent in EXPONENTS:
            spike = Spike(DIM**exponent, 1.0)
            rate = FLOWS[geometry](activation("relu"), Target(TARGET), spike)
            state, now = np.array([[DIM**-0.5], [DIM**-0.5], [1.0]]), 0.0
            for time in times:
                state, now = integrate(rate, state, float(time - now)).state, time
                known = {"geometry": geometry, "exponent": exponent, "time": time}
                overlap = flow_overlap(state, spike)[0]
                yield {**known, "spike_overlap": state[0, 0], "overlap": overlap}


def draw(table: DataFrame) -> Picture:
    """One panel per geometry, one line per exponent."""
    figure, panels = overlay_panels(
        table.rename(columns={"overlap": "overlap.theory"}),
        Side("time", "time $t$", "log"),
        Side("overlap", r"overlap $\omega$"),
        panels=("geometry", {geometry: f"{geometry} flow" for geometry in GEOMETRIES}),
        curves=("exponent", {e: rf"$\theta = d^{{{e:g}}}$" for e in EXPONENTS}),
        legend="above",
    )
    for panel in panels:
        panel.axhline(0, color=GREY, linewidth=0.8)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """The spherical flow never passes its start; the normalised one arrives."""
    found = {}
    spherical = table[table.geometry == "spherical"]
    found["on the sphere the neuron never gets closer to the target than it began"] = bool(
        spherical.spike_overlap.max() <= DIM**-0.5 * (1 + 1e-6)
    )
    normalised = table[table.geometry == "normalised"]
    half = [
        normalised[(normalised.exponent == e) & (normalised.overlap > 0.5)].time.min()
        for e in EXPONENTS
    ]
    found["the normalised flow passes one half, the sooner the stronger the spike"] = bool(
        half[0] > half[1] > half[2]
    )
    return found


REFERENCES = cite("2309.03843")
SIZES = figure_sizes(points=(25, 120, 300))

"""Kernel regression on spiked inputs: which degrees a kernel learns as the spike grows.

Excess risk of ridge regression with the kernel exp(<x, x'>/d) on inputs whose first direction has
variance 1 + d^gamma, for targets of degree 1, 2 and 3 in that direction; n = d, ridge 0.01. Degree
k is learned once gamma exceeds 1 - 1/k (dotted): sharply as d grows, hardly visibly at d = 300.
After Ba et al. 2023 (spiked covariance).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from giantstep.figures.style import COLOURS, GREY, house_style, new_figure, save
from giantstep.settings.kernel import KernelRidge
from giantstep.twins.verbs import predict

DEGREES = {1: "h1", 2: "He2(h1)/sqrt(2)", 3: "He3(h1)/sqrt(6)"}
DIMENSIONS = {300: "d = 300", 10**6: "d = 10^6", 10**24: "d = 10^24"}


def risks_by_degree(exponents: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    """Test errors along the exponents, for each dimension and degree."""
    return {
        (dim, degree): np.asarray(
            predict(
                [
                    KernelRidge(dim=dim, samples="1d", ridge=0.01, spike_strength=f"d^{exponent:g}")
                    for exponent in exponents
                ],
                target,
            ).metrics["test_error"]
        )
        for dim in DIMENSIONS
        for degree, target in DEGREES.items()
    }


def draw_spiked_kernel(path: Path, points: int = 33) -> Path:
    """One panel a dimension, one line a degree."""
    exponents = np.linspace(0.02, 0.82, points)
    risks = risks_by_degree(exponents)
    with house_style():
        figure, panels = new_figure(8.4, 3.1, ncols=len(DIMENSIONS), sharey=True)
        for panel, (dim, label) in zip(panels, DIMENSIONS.items(), strict=True):
            for degree, colour in zip(DEGREES, COLOURS, strict=False):
                panel.plot(exponents, risks[dim, degree], color=colour, label=f"degree {degree}")
                if degree > 1:
                    panel.axvline(1 - 1 / degree, color=colour, linestyle=":", linewidth=1)
            panel.axhline(0, color=GREY, linewidth=0.8)
            panel.set_title(label.replace("10^6", "$10^6$").replace("10^24", "$10^{24}$"))
            panel.set_xlabel(r"exponent $\gamma$ of the spike $d^\gamma$")
        panels[0].set_ylabel("test error")
        panels[-1].legend(loc="center left", bbox_to_anchor=(0.05, 0.5))
        return save(figure, path)

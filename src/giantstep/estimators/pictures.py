"""Pictures of a fitted estimator: links over their indices, and directions over the columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Points on a drawn link, and columns shown by name in a picture of directions.
CURVE_POINTS, MOST_COLUMNS = 200, 20


def links_picture(
    indices: np.ndarray, labels: np.ndarray, link: Callable[[np.ndarray], np.ndarray]
) -> Figure:
    """Labels over each learned index, with the fitted link along it.

    The other indices are held at their means (0) on the curve, so that dots scatter around it
    where directions act together. ``link`` gives the label at rows of indices.
    """
    from matplotlib.figure import Figure

    count = max(indices.shape[1], 1)
    figure = Figure(figsize=(3.4 * count, 3.0), layout="constrained")
    if not indices.shape[1]:
        return _nothing(figure)
    axes = figure.subplots(1, count, squeeze=False)[0]
    for position, axis in enumerate(axes):
        axis.plot(indices[:, position], labels, ".", color="0.6", markersize=3, label="data")
        grid = np.zeros((CURVE_POINTS, indices.shape[1]))
        grid[:, position] = np.linspace(
            indices[:, position].min(), indices[:, position].max(), CURVE_POINTS
        )
        axis.plot(grid[:, position], link(grid), color="C0", label="fitted link")
        axis.set_xlabel(f"index {position + 1}")
    axes[0].set_ylabel("label")
    axes[0].legend(frameon=False)
    return figure


def directions_picture(directions: np.ndarray, names: list[str]) -> Figure:
    """The learned directions, one bar for each column, the largest first."""
    from matplotlib.figure import Figure

    count = max(directions.shape[1], 1)
    size = np.linalg.norm(directions, axis=1)
    order = np.argsort(-size)[:MOST_COLUMNS]
    figure = Figure(figsize=(3.0 * count, 0.6 + 0.22 * len(order)), layout="constrained")
    if not directions.shape[1]:
        return _nothing(figure)
    axes = figure.subplots(1, count, squeeze=False, sharey=True)[0]
    for position, axis in enumerate(axes):
        axis.barh(range(len(order)), directions[order, position], color=f"C{position}")
        axis.set_title(f"direction {position + 1}", fontsize="medium")
        axis.axvline(0, color="0.3", linewidth=0.8)
    axes[0].set_yticks(range(len(order)), [names[column] for column in order])
    axes[0].invert_yaxis()
    # Two lines: one would be wider than the picture of a single direction.
    figure.supxlabel("weight of a column,\nin standard deviations of the index", fontsize="medium")
    return figure


def _nothing(figure: Figure) -> Figure:
    """The picture of a fit without directions."""
    axis = figure.subplots()
    axis.text(0.5, 0.5, "no direction was found", ha="center", va="center")
    axis.set_axis_off()
    return figure

"""Pictures of a fitted estimator: links over their indices, and directions over the columns."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Columns shown by name in a picture of directions.
MOST_COLUMNS = 20
#: Columns of a direction are named until they make up this share of its square, four at most.
MOST_NAMED = 0.9


def fitted_links_picture(
    indices: np.ndarray,
    labels: np.ndarray,
    curves: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    names: list[str],
    label: str,
) -> Figure:
    """Labels over each learned index, with the fitted link and its standard error along it.

    The other indices are held at their means (0) on the curve, so that dots scatter around it
    where directions act together.
    """
    from matplotlib.figure import Figure

    count = max(indices.shape[1], 1)
    lines = -(-count // 2)
    figure = Figure(figsize=(3.4 * min(count, 2), 3.2 * lines), layout="constrained")
    if not indices.shape[1]:
        return _picture_without_fit(figure)
    axes = [figure.add_subplot(lines, min(count, 2), place + 1) for place in range(count)]
    for index, axis, (at, value, error), name in zip(indices.T, axes, curves, names, strict=True):
        axis.plot(index, labels, ".", color="0.6", markersize=3, label="data")
        axis.fill_between(at, value - error, value + error, color="C0", alpha=0.25, linewidth=0)
        axis.plot(at, value, color="C0", label="fitted link")
        # Where there are no dots the band is as wide as it likes.
        seen = np.concatenate([labels, value])
        axis.set_ylim(seen.min() - 0.1 * np.ptp(seen), seen.max() + 0.1 * np.ptp(seen))
        # Names may hold dollar signs, which are no mathematics.
        axis.set_xlabel(textwrap.fill(name, 40), fontsize="small", parse_math=False)
    axes[0].set_ylabel(label, parse_math=False)
    axes[0].legend(frameon=False)
    return figure


def fitted_directions_picture(directions: np.ndarray, names: list[str]) -> Figure:
    """The learned directions, one bar for each column, the largest first."""
    from matplotlib.figure import Figure

    count = max(directions.shape[1], 1)
    size = np.linalg.norm(directions, axis=1)
    order = np.argsort(-size)[:MOST_COLUMNS]
    figure = Figure(figsize=(3.0 * count, 0.6 + 0.22 * len(order)), layout="constrained")
    if not directions.shape[1]:
        return _picture_without_fit(figure)
    axes = figure.subplots(1, count, squeeze=False, sharey=True)[0]
    for position, axis in enumerate(axes):
        axis.barh(range(len(order)), directions[order, position], color=f"C{position}")
        axis.set_title(f"direction {position + 1}", fontsize="medium")
        axis.axvline(0, color=axis.spines["left"].get_edgecolor(), linewidth=0.8)
    axes[0].set_yticks(range(len(order)), [names[column] for column in order], parse_math=False)
    axes[0].invert_yaxis()
    # Two lines: one would be wider than the picture of a single direction.
    figure.supxlabel("weight of a column,\nin standard deviations of the index", fontsize="medium")
    return figure


def direction_by_columns(direction: np.ndarray, names: list[str]) -> str:
    """A direction by its largest columns, and how many smaller ones there are.

    >>> direction_by_columns(np.array([0.0, -0.6, 0.8, 0.01]), ["a", "b", "c", "d"])
    '+0.80 c, -0.60 b and 1 smaller'
    """
    order = np.argsort(-np.abs(direction))
    shares = np.cumsum(direction[order] ** 2) / max(float(direction @ direction), 1e-300)
    count = min(int(np.searchsorted(shares, MOST_NAMED)) + 1, 4)
    terms = [f"{direction[i]:+.2f} {names[i]}" for i in order[:count]]
    rest = int(np.sum(direction[order[count:]] != 0))
    return ", ".join(terms) + (f" and {rest} smaller" if rest else "")


def _picture_without_fit(figure: Figure) -> Figure:
    """The picture of a fit without directions."""
    axis = figure.subplots()
    axis.text(0.5, 0.5, "no direction was found", ha="center", va="center")
    axis.set_axis_off()
    return figure

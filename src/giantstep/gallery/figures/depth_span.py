"""How much of a tree's leaves the first layer holds.

Mean squared projection of the d^(1/2) leaves of a tree with p = He2 on as many learned directions.
Lines: predicted for the eigenvectors of the moment matrix of the labels, (1/n) sum (y - mean) x
x^T, with the leaves as spikes that share a finite dimension (heuristic); dots: those eigenvectors,
{seeds} simulations; squares: units |w.x| after four gradient steps, of which nothing is predicted.
From the threshold, where the first dots are, to where the line passes 0.9, n grows about tenfold.
The claims allow 0.02 for what is left of a finite d at the threshold, and 0.06 for the squares,
which are another method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giantstep.bibliography import cite
from giantstep.gallery.figure import (
    DataFrame,
    Picture,
    Sizes,
    Tables,
    Workbench,
    figure_columns,
    figure_sizes,
)
from giantstep.gallery.panels import (
    Side,
    curves_by_dimension,
    draw_dots,
    on_panel_line,
    overlay_panels,
)
from giantstep.gallery.style import COLOURS, GREY

if TYPE_CHECKING:
    import numpy as np

DIMENSIONS = (36, 64, 100)
#: Steps of the units |w.x|, as in the learner.
STEPS = 4
TREE = "tree-he2"


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Spans by dimension and samples: of eigenvectors, of trained units, and predicted."""
    import numpy as np

    from giantstep.language.problem import TreeProblem
    from giantstep.language.targets import TreeTarget
    from giantstep.settings.three_layer import ThreeLayer
    from giantstep.theory.three_layer.moment_span import moment_span
    from giantstep.theory.three_layer.prediction import predict

    tree = TreeTarget(TREE)
    for number, dim in enumerate(DIMENSIONS):
        leaves = tree.sizes(dim)[1]
        threshold = predict(TreeProblem(TREE), ThreeLayer(dim=dim)).metrics["threshold"]
        line = np.geomspace(dim**1.3, dim**2.2, sizes.points).tolist()
        dots = np.geomspace(dim**1.4, dim**2.2, sizes.dots).round().astype(int).tolist()
        for n in (*line, *dots):
            own = {
                "dim": dim,
                "samples": n,
                "moment_span.theory": moment_span(tree, leaves, dim, n),
            }
            if n in dots:
                eigenvectors, units = _figure_spans(dim, n, sizes.seeds).T
                own |= figure_columns("moment_span", eigenvectors) | figure_columns("steps", units)
            yield {**own, "threshold": threshold}
        bench.report((number + 1) / len(DIMENSIONS))


def _figure_spans(dim: int, samples: int, seeds: int) -> np.ndarray:
    """Spans of the moment matrix's eigenvectors and of the stepped units, seed by seed."""
    import numpy as np

    from giantstep.language.problem import TreeProblem
    from giantstep.learners.three_layer.layers import trained_leaf_span
    from giantstep.learners.three_layer.layerwise import (
        sample_eigenvectors,
        sample_moments,
        train_moment_units,
    )
    from giantstep.learners.three_layer.samples import draw_tree_data
    from giantstep.numerics.seeds import generator

    found = []
    for seed in range(seeds):
        rng = generator("depth-span", dim, samples, seed)
        (x, _, _, y), _, leaves = draw_tree_data(TreeProblem(TREE), samples, 2, dim, rng)
        first = sample_eigenvectors(sample_moments(x, y), leaves)
        second = train_moment_units(x, y, STEPS, leaves, rng)
        found.append([trained_leaf_span(first, leaves), trained_leaf_span(second, leaves)])
    return np.array(found)


def draw(table: DataFrame) -> Picture:
    """One line per dimension; open squares are the trained units."""
    figure, (panel,) = overlay_panels(
        table,
        Side("samples", "samples $n$", "log"),
        Side("moment_span", "span of the leaves", limits=(0, 1)),
        curves=curves_by_dimension(*DIMENSIONS),
        legend=None,
    )
    units: dict[str, Any] = {"fmt": "s", "mfc": "none", "markersize": 6}
    for dim, colour in zip(DIMENSIONS, COLOURS, strict=False):
        draw_dots(panel, table[table.dim == dim], "samples", "steps", colour, **units)
    panel.plot([], [], "o", color=GREY, label="eigenvectors")
    panel.plot([], [], "s", color=GREY, mfc="none", label="trained units")
    panel.legend(loc="lower right")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Dots on the lines; the trained units near them."""
    law = table["moment_span.theory"]
    return {
        "each dot is within 4 standard errors plus 0.02 of its line": on_panel_line(
            table, "moment_span", errors=4, allowance=0.02
        ),
        "each square is within 4 standard errors plus 0.06 of the line": on_panel_line(
            table.assign(**{"steps.theory": law}), "steps", errors=4, allowance=0.06
        ),
        "from the threshold to a span of 0.9 n grows by a factor of 5 to 20": all(
            5 < here[here["moment_span.theory"] > 0.9].samples.min() / here.threshold.iloc[0] < 20
            for _, here in table.groupby("dim")
        ),
    }


REFERENCES = cite("2502.13961", "1702.06435", "0910.2120")
SIZES = figure_sizes(points=(30, 40, 80), dots=(2, 5, 8), seeds=(4, 6, 40))

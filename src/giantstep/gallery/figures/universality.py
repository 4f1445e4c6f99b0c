"""Real inputs, whitened, against the curve of Gaussian ones.

Excess test error of ridge regression on random features, tanh, p = 2 d, ridge 0.05, against the
samples. Inputs: the 1797 digits of scikit-learn along their 30 leading principal components,
whitened, or as many Gaussian vectors; labels h1 + He2(h1)/2 along a random direction, noise 0.1.
Line: limit of large d for Gaussian inputs; dots: {seeds} draws of direction, neurons and samples,
with standard errors; errors are measured on the images left over. Digits follow the curve of
Gaussian inputs with their covariance to about a tenth, below it: their third moments are not 0, and
odd features catch a part of the square. The claim allows 15 % for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giantstep.bibliography import cite
from giantstep.datasets import load_table
from giantstep.gallery.figure import (
    Along,
    DataFrame,
    Picture,
    Sizes,
    Tables,
    Workbench,
    figure_columns,
    figure_sizes,
)
from giantstep.gallery.panels import Side, draw_curves
from giantstep.gallery.style import GREY, new_figure
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.numerics.ridge.path import RidgePath
from giantstep.numerics.seeds import generator
from giantstep.settings.random_features import RandomFeatures

if TYPE_CHECKING:
    import numpy as np

PROBLEM = Problem.of("h1 + He2(h1)/2", noise=0.1)
#: Principal components kept of the digits, whitened; d of everything here.
DIM = 30
SETTINGS = RandomFeatures(activation="tanh", width="2d", ridge=0.05, dim=DIM)
FEWEST, MOST = 0.5, 24.0
#: What the third moments of the images change, as a row of the table.
CAUGHT = "energy of the square in a linear fit"
KINDS = {"gaussian": "Gaussian inputs", "digits": "digits, whitened"}


def _whitened_digits() -> np.ndarray:
    """The images along their leading principal components, each of mean 0 and variance 1."""
    import numpy as np

    pixels = load_table("digits")[0].to_numpy(float)
    pixels = pixels - pixels.mean(axis=0)
    left = np.linalg.svd(pixels, full_matrices=False)[0][:, :DIM]
    return left * np.sqrt(len(pixels))


def _figure_linear_share(images: np.ndarray) -> float:
    """Energy of He2(h)/2 that a linear fit catches, over random directions: 0 if Gaussian."""
    import numpy as np

    directions = generator("universality", "directions").standard_normal((200, DIM))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    moments = ((images @ directions.T) ** 2).T @ images / len(images)
    return float(np.mean(np.sum(moments**2, axis=1)) / 4)


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Test errors by samples: predicted, on Gaussian inputs, and on images."""

    images = _whitened_digits()
    along = Along("samples", "{:g}d".format, "ratio", (FEWEST, MOST), ratios=True)
    law = bench.curve(["test_error"], SETTINGS, PROBLEM, along, Sizes(points=sizes.points, seeds=1))
    yield {"kind": CAUGHT, "test_error": _figure_linear_share(images)}
    law = law.rename(columns={"test_error.theory": "test_error"}).assign(kind="theory")
    yield law[["kind", "test_error", "ratio"]]
    for number, ratio in enumerate(along.places(sizes.dots)):
        for kind in KINDS:
            runs = [_drawn_fit(kind, images, round(ratio * DIM), i) for i in range(sizes.seeds)]
            yield {"ratio": ratio, "kind": kind, **figure_columns("test_error", runs)}
        bench.report((number + 1) / sizes.dots)


def _drawn_fit(kind: str, images: np.ndarray, samples: int, seed: int) -> float:
    """Fit random features to labels along a random direction; errors on the inputs left over."""
    import numpy as np

    rng, width = generator("universality", kind, samples, seed), SETTINGS.width.count(DIM, "width")
    inputs = rng.permutation(images)
    if kind == "gaussian":
        inputs = rng.standard_normal(images.shape)
    direction, *neurons = rng.standard_normal((1 + width, DIM))
    rows_ = np.array(neurons) / np.linalg.norm(neurons, axis=1, keepdims=True)
    clean = PROBLEM.target.numpy((inputs @ direction / np.linalg.norm(direction))[:, None])
    labels = clean + np.sqrt(PROBLEM.noise) * rng.standard_normal(len(clean))
    phi = activation(SETTINGS.activation).numpy(inputs @ rows_.T) / np.sqrt(width)
    readout = RidgePath.fit(phi[:samples], labels[:samples]).coefficients(SETTINGS.ridge)[0]
    return float(np.mean((clean[samples:] - phi[samples:] @ readout) ** 2))


def draw(table: DataFrame) -> Picture:
    """One line, two kinds of dots."""
    figure, panel = new_figure(5.4, 3.9)
    line = table[table.kind == "theory"]
    panel.plot(line.ratio, line.test_error, color=GREY, label="theory for Gaussian inputs")
    dots = table[table.kind.isin(KINDS)]
    samples = Side("ratio", "samples / $d$", "log", ticks=[0.5, 1, 2, 4, 8, 16])
    error = Side("test_error", "test error", limits=(0, None))
    draw_curves(panel, dots, samples, error, ("kind", KINDS))
    panel.legend(loc="upper right")
    return figure


def _figure_differences(table: DataFrame) -> DataFrame:
    """By samples: Gaussian and real errors, their relative difference and its standard error."""
    import numpy as np

    wide = table[table.kind.isin(KINDS)].pivot_table(
        index="ratio", columns="kind", values=["test_error", "test_error.sem"]
    )
    error, sem = wide["test_error"], wide["test_error.sem"]
    gap = error.digits / error.gaussian - 1
    return error.assign(gap=gap, gap_error=np.hypot(sem.digits, sem.gaussian) / error.gaussian)


def claims(table: DataFrame) -> dict[str, bool]:
    """Real inputs follow the Gaussian curve."""
    found = _figure_differences(table)
    return {
        "at every n the digits are within 4 standard errors plus 15 % of Gaussian inputs": bool(
            (found.gap.abs() < 4 * found.gap_error + 0.15).all()
        ),
        "with the most samples they are below by less than twice what a linear fit catches": bool(
            0
            < found.gaussian.iloc[-1] - found.digits.iloc[-1]
            < 2 * table[table.kind == CAUGHT].test_error.iloc[0]
        ),
        "both fall to less than 0.6 of their largest error": bool(
            found.digits.iloc[-1] < 0.6 * found.digits.max()
            and found.gaussian.iloc[-1] < 0.6 * found.gaussian.max()
        ),
    }


REFERENCES = cite("2102.08127", "2009.07669")
SIZES = figure_sizes(points=(5, 25, 49), dots=(2, 7, 11), seeds=(60, 100, 600))

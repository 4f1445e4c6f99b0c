r"""What more rows would buy: the error at 2n and 4n rows, as a ratio to the present one.

The level of the present error is known to ten per cent or so, and no extrapolation mends that; the
ratio is known better. With the leave-one-out errors of a ridge or kernel regression and
:math:`G = (K + \delta)^{-1}`,

.. math:: df_2 = n - \frac{(\mathrm{tr}\,G)^2}{\mathrm{tr}\,G^2}, \qquad
    \frac{R(n')}{R(n)} = \frac{1 - df_2/n}{1 - df_2/n'} \quad\text{(ridge)},

from one fit. Kernels and the stack are fitted to parts of the rows; the slope c of the logarithm of
their error per doubling goes on weakened, for a kernel by the more the smaller
:math:`\rho = df_1/n = 1 - \delta\,\mathrm{tr}\,G/n` is. The slope and the formula for ridge err on
different tables: a kernel's forecast is the geometric mean of the two logarithms. The constants,
and the widths of the 90 % intervals, were fitted to 22 tables of 250 and 500 rows and checked on
others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from scipy.stats import norm
from scipy.stats import t as student

from giantstep.errors import SettingsError

#: Half-widths of the logarithm of the ratio, constant and in units of it, at 2n and at 4n rows.
WIDTHS = {
    "ridge": ((0.03, 0.4), (0.05, 0.5)),
    "kernel": ((0.04, 0.5), (0.07, 0.7)),
    "stack": ((0.1, 0.8), (0.15, 0.9)),
}
#: A forecast is less certain by this factor where one of the warnings below is given.
WIDER = 1.6
#: Leave-one-out and generalised cross-validation differ by more than this in logarithm; the present
#: error has a larger relative standard error; it is a larger share of the variance; the logarithm
#: of the error bends by more per doubling squared.
APART, UNSURE, UNLEARNED, BENT = 0.3, 0.2, 0.85, 0.25
#: A stack has no forecast where its error bends. A kernel has none where leave-one-out and
#: generalised cross-validation are apart, or where the slope and the formula differ by more than
#: this at four times the rows: both then rest on rows that are unlike the others.
CONTRARY = 0.3
#: The slope of the stack's error per doubling is taken to be no steeper.
STEEPEST = -0.6
#: Half-width of the 90 % interval of the logarithm of the error, over draws of the rows of a fit.
DRAWN = 0.15
#: Doublings of the rows from four fifths of them, which folds are fitted to, to all.
FROM_FOLDS = float(np.log2(5 / 4))
#: Standard errors of the present error in a 90 % interval of the error itself.
LEVEL = 2.3
RIDGES = {"ridge": 10.0 ** np.arange(-6, 2.1, 0.25), "kernel": 10.0 ** np.arange(-8, 0.6, 0.25)}
#: Bandwidths of the Gaussian kernel that are tried, in median distances.
BANDWIDTHS = (0.4, 0.7, 1.2)


class LeaveOneOut(NamedTuple):
    """A kernel regression at the ridge of least leave-one-out error."""

    squares: Float[np.ndarray, " n"]
    dual: Float[np.ndarray, " n"]
    df1: float
    df2: float
    gcv: float

    @property
    def error(self) -> float:
        """The mean squared leave-one-out error."""
        return float(self.squares.mean())


def _leave_one_out(
    kernel: Float[np.ndarray, "n n"], labels: Float[np.ndarray, " n"], ridges: np.ndarray
) -> LeaveOneOut:
    """Fit centred labels at every ridge (in units of n), and keep the best."""
    rows = len(labels)
    values, vectors = eigh(kernel)
    inverse = 1 / (np.maximum(values, 0.0)[:, None] + rows * ridges)
    parts = vectors.T @ labels
    errors = (vectors @ (parts[:, None] * inverse)) / (vectors**2 @ inverse)
    best = int(np.argmin(np.mean(errors**2, axis=0)))
    g = inverse[:, best]
    trace = float(g.sum())
    return LeaveOneOut(
        errors[:, best] ** 2,
        vectors @ (parts * g),
        rows - rows * float(ridges[best]) * trace,
        rows - trace**2 / float(g @ g),
        rows * float((parts * g) @ (parts * g)) / trace**2,
    )


def forecast_fit_error(
    X: Any,
    y: Any,
    *samples: int,
    learner: Literal["ridge", "kernel"] = "ridge",
    random_state: int = 0,
) -> pd.DataFrame:
    """The error of ridge or Gaussian kernel regression at these numbers of rows.

    By default at twice and four times the rows; columns as in
    :meth:`GiantStepRegressor.learning_curve`. Where the forecast of a kernel would be a guess its
    numbers are NaN, and ``attrs["notes"]`` says so.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 40))
    >>> found = forecast_fit_error(X, X[:, 0] + rng.standard_normal(200))
    >>> found["samples"].tolist(), bool(0.6 < found["ratio"][0] < 0.95)
    ([400, 800], True)
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    if learner not in RIDGES:
        raise SettingsError(f"learner = {learner!r}: give 'ridge' or 'kernel'")
    inputs = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    ridges, rows = RIDGES[learner], len(y)
    if learner == "ridge":
        kernels = [inputs @ inputs.T / inputs.shape[1]]
    else:
        distances = cdist(inputs, inputs, "sqeuclidean")
        middle = float(np.median(distances[np.triu_indices(rows, 1)])) or 1.0
        kernels = [np.exp(-distances / (2 * width**2 * middle)) for width in BANDWIDTHS]
    fits = [_leave_one_out(kernel, y - y.mean(), ridges) for kernel in kernels]
    best = int(np.argmin([fit.error for fit in fits]))
    fit, kernel = fits[best], kernels[best]

    def theory(doublings: float) -> float:
        used = fit.df2 / rows
        return float(np.log((1 - used) / (1 - used / 2**doublings)))

    ratio = theory
    notes = []
    uneven, unknown = abs(np.log(fit.gcv / fit.error)) > APART, False
    if uneven:
        notes.append("leave-one-out and generalised cross-validation disagree")
    if learner == "kernel":

        def error(part: np.ndarray, rest: np.ndarray) -> float:
            mean = y[part].mean()
            found = _leave_one_out(kernel[np.ix_(part, part)], y[part] - mean, ridges)
            return float(np.mean((y[rest] - mean - kernel[np.ix_(rest, part)] @ found.dual) ** 2))

        sizes, errors = _measured_fit_errors(error, rows, (2, 2, 1), random_state)
        logs = np.log([*errors, fit.error])
        slope = min(float(np.polyfit(np.log2([*sizes, 1.0]), logs, 1)[0]), 0.0)
        # A quadratic through 0, and through the constants at one and two doublings.
        once, twice = np.array([0.4, 0.65]) + np.array([0.7, 1.55]) * fit.df1 / rows

        def measured(doublings: float) -> float:
            return float(slope * doublings * (once + (twice / 2 - once) * (doublings - 1)))

        def ratio(doublings: float) -> float:
            return -float(np.sqrt(measured(doublings) * theory(doublings)))

        between = abs(measured(2.0) - theory(2.0))
        if between > 0.1:
            notes.append("the measured slope and the theory of one fit disagree")
        unknown = uneven or between > CONTRARY
    return _forecast_fit_table(ratio, learner, fit.squares, y, samples, notes, unknown)


class Slope(NamedTuple):
    """The slope of the logarithm of a stack's error per doubling of the rows, and how it bends."""

    slope: float
    bend: float

    @classmethod
    def of(
        cls, error: Callable[[np.ndarray, np.ndarray], float], errors: Float[np.ndarray, " n"]
    ) -> Slope:
        """From fits to parts of the rows, and from ``errors`` on rows left out of four fifths.

        ``error`` fits a part of the rows and gives the mean squared error on another.
        """
        sizes, parts = _measured_fit_errors(error, len(errors), (1, 1, 0), 0)
        logs = np.log(np.maximum([*parts, np.mean(errors**2)], 1e-300))
        at = np.log2([*sizes, 0.8])
        slope = float(np.clip(np.polyfit(at, logs, 1)[0], STEEPEST, 0.0))
        return cls(slope, float(np.polyfit(at, logs, 2)[0]))

    def ratio(self, doublings: float) -> float:
        """The logarithm of the ratio of the error after so many doublings to the present one."""
        return self.slope * doublings * (0.88 - 0.08 * doublings)

    def forecast(
        self, labels: np.ndarray, errors: np.ndarray, samples: Sequence[int]
    ) -> pd.DataFrame:
        """The error of the stack at these numbers of rows."""
        bends = abs(self.bend) > BENT
        notes = ["in transition: the error bends, and a new direction may appear"] * bends
        # The present error is that of four fifths of the rows.
        squares = errors**2 * np.exp(self.ratio(FROM_FOLDS))
        return _forecast_fit_table(self.ratio, "stack", squares, labels, samples, notes, bends)

    def score_interval(
        self, errors: np.ndarray, labels: np.ndarray, tested: float, coverage: float
    ) -> tuple[float, float]:
        r"""Where R^2 on ``tested`` other rows lies with this probability.

        The logarithm of :math:`1 - R^2` moves by :math:`\psi_i = e_i^2/\overline{e^2} -
        t_i^2/\overline{t^2}` with each row, of the table and of the other rows: its variance is
        that of :math:`\psi` times 1/n + 1/m. A few rows may decide; the variance is then known no
        better than from :math:`2n/(\kappa - 1)` normal numbers, with the kurtosis
        :math:`\kappa`. To this comes how far the error falls from four fifths of the rows to all,
        and what a fit to other rows would change.
        """
        squares, around = errors**2, (labels - labels.mean()) ** 2
        lost = float(squares.mean()) / (float(around.mean()) or 1.0)
        if lost == 0:
            return 1.0, 1.0
        moves = squares / squares.mean() - around / (float(around.mean()) or 1.0)
        variance = float(moves.var())
        kurtosis = float(np.mean((moves - moves.mean()) ** 4)) / max(variance**2, 1e-300)
        freedom = max(2 * len(errors) / max(kurtosis - 1, 1e-300), 2.0)
        width = student.ppf((1 + coverage) / 2, freedom)
        growth = self.ratio(FROM_FOLDS)
        unsure = (DRAWN + WIDTHS["stack"][0][1] * abs(growth)) * width / norm.ppf(0.95)
        half = float(np.hypot(width * np.sqrt(variance * (1 / len(errors) + 1 / tested)), unsure))
        middle = float(np.log(lost)) + growth
        return 1 - float(np.exp(middle + half)), 1 - float(np.exp(middle - half))


def _measured_fit_errors(
    error: Callable[[np.ndarray, np.ndarray], float],
    rows: int,
    repeats: tuple[int, int, int],
    seed: int,
) -> tuple[list[float], list[float]]:
    """Shares of the rows, a quarter, a half and three quarters, and mean errors on the rest."""
    generator = np.random.default_rng(seed)
    everyone = np.arange(rows)
    found: dict[float, float] = {}
    for share, parts, repeat in zip((0.25, 0.5, 0.75), (4, 2, 4), repeats, strict=True):
        values = []
        for _ in range(repeat):
            for block in np.array_split(generator.permutation(rows), parts):
                others = np.setdiff1d(everyone, block)
                values.append(error(others, block) if share > 0.5 else error(block, others))
        if values:
            found[share] = float(np.mean(values))
    return list(found), list(found.values())


def _forecast_fit_table(
    ratio: Callable[[float], float],
    kind: str,
    squares: np.ndarray,
    labels: np.ndarray,
    samples: Sequence[int],
    notes: list[str],
    unknown: bool,
) -> pd.DataFrame:
    """The forecast at each number of rows, with its intervals and warnings; NaN if unknown."""
    rows, level = len(labels), float(squares.mean())
    variance = float(labels.var()) or 1.0
    unsure = float(squares.std()) / np.sqrt(rows) / max(level, 1e-300)
    if unsure > UNSURE or level > UNLEARNED * variance:
        notes.append("little is learned yet, or a few rows decide: more rows may do better or not")
    wide = WIDER if notes else 1.0
    if unknown:
        notes.append("what more rows would buy cannot be known from these rows")
    lines = []
    for count in samples or (2 * rows, 4 * rows):
        if not rows < count <= 8 * rows:
            raise SettingsError(
                f"samples = {count!r}: give numbers above {rows}, the rows of the fit, and up to "
                f"{8 * rows}"
            )
        doublings = float(np.log2(count / rows))
        log = np.nan if unknown else ratio(doublings)
        once, twice = (fixed + part * abs(log) for fixed, part in WIDTHS[kind])
        half = wide * max(once + (twice - once) * (doublings - 1), 0.5 * once)
        whole = float(np.hypot(half, LEVEL * unsure))
        line: dict[str, float] = {"samples": count}
        for name, value, width in (("ratio", 1.0, half), ("error", level, whole)):
            line |= {
                name: value * np.exp(log),
                f"{name}_low": value * np.exp(log - width),
                f"{name}_high": value * np.exp(log + width),
            }
        line |= {
            "r2": 1 - line["error"] / variance,
            "r2_low": 1 - line["error_high"] / variance,
            "r2_high": 1 - line["error_low"] / variance,
        }
        lines.append(line)
    table = pd.DataFrame(lines)
    table.attrs["notes"] = tuple(notes)
    return table

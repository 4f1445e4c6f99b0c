"""Columns and labels brought to one scale, with their tails drawn in and their gaps filled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from giantstep.answer.plain import counted
from giantstep.numerics.ridge.scaled import Roots

#: Numbers farther from the quartiles than this many quartile distances are cut off: a slip of the
#: keyboard or a code for "missing" would otherwise set the scale of its column. Gaussian columns
#: end at three such distances, those of Student's t with four degrees at ten in 300 rows.
FENCE = 20.0
#: A number beyond the fence is believed if the next smaller one is not farther off than by this
#: factor: a slip stands alone, while a long tail leads up to its largest number.
GAP = 6.0
#: Quantiles whose distance is the unit; the later ones for columns that are mostly one value.
SPREADS = ((0.25, 0.75), (0.05, 0.95), (0.01, 0.99))
#: Gaps from which a column's are marked: a mark that one row has is that row's name.
LEAST_MARKED = 5
#: A label with a larger kurtosis is also tried with its tails compressed (a normal one has 3).
HEAVY_LABEL = 15.0


class Filler(NamedTuple):
    """Missing numbers become medians; where they are several, a column of its own marks them.

    ``codes`` are numbers that stand for a missing one, as -999 does; NaN in columns without.
    """

    medians: Float[np.ndarray, " d"]
    marked: Int[np.ndarray, " k"]
    codes: Float[np.ndarray, " d"]

    @classmethod
    def of(cls, inputs: Float[np.ndarray, "n d"]) -> Filler:
        """Medians of these rows; a column that is empty is filled by 0, and constant then."""
        empty = np.isnan(inputs).all(axis=0)
        given = np.where(empty, 0.0, inputs)
        codes = _codes_for_missing(np.where(np.isnan(given), np.nanmedian(given, axis=0), given))
        given = np.where(given == codes, np.nan, given)
        marked = np.flatnonzero(np.isnan(given).sum(axis=0) >= LEAST_MARKED)
        return cls(np.nanmedian(given, axis=0), marked, codes)

    def missing(self, inputs: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, "n d"]:
        """Which numbers are missing, or a code for that."""
        return np.isnan(inputs) | (inputs == self.codes)

    def transform(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n e"]:
        """The rows without gaps, then the marks."""
        missing = self.missing(inputs)
        filled = np.where(missing, self.medians, inputs)
        return np.concatenate([filled, missing[:, self.marked]], axis=1)

    @property
    def columns(self) -> Int[np.ndarray, " e"]:
        """The given column that each column of the result is about."""
        return np.concatenate([np.arange(len(self.medians)), self.marked])


class TailScaler(NamedTuple):
    """Cut off beyond the fences, standardise, compress beyond ``clip`` deviations, and once more.

    Links are polynomials between their knots; one far point would otherwise decide the fit. A
    constant column has an infinite deviation: whatever is met in it later, it is 0.
    """

    low: Float[np.ndarray, " d"]
    high: Float[np.ndarray, " d"]
    mean: Float[np.ndarray, " d"]
    deviation: Float[np.ndarray, " d"]
    clip: float
    mean_after: Float[np.ndarray, " d"]
    deviation_after: Float[np.ndarray, " d"]

    @classmethod
    def of(cls, inputs: Float[np.ndarray, "n d"], clip: float) -> TailScaler:
        """Fences, means and deviations of these rows."""
        low, high = column_fences(inputs)
        inside = np.clip(inputs, low, high)
        mean, deviation = _column_moments(inside)
        compressed = _compress((inside - mean) / deviation, clip)
        return cls(low, high, mean, deviation, clip, *_column_moments(compressed))

    def transform(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """The rows on the scale of the rows that were fitted, in the precision they come in."""
        kind = inputs.dtype
        # In place from here on: a streamed fit spends its time here and in products.
        scaled = np.array(inputs, order="C")
        np.clip(scaled, self.low.astype(kind), self.high.astype(kind), out=scaled)
        scaled -= self.mean.astype(kind)
        scaled *= (1 / self.deviation).astype(kind)
        scaled = _compress(scaled, self.clip)
        scaled -= self.mean_after.astype(kind)
        scaled *= (1 / self.deviation_after).astype(kind)
        return scaled

    def uncompressed(self, scaled: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Transformed rows with their tails let out again: linear in the columns."""
        constant = np.isinf(self.deviation_after)
        return _expand(
            scaled * np.where(constant, 0.0, self.deviation_after) + self.mean_after, self.clip
        )

    @property
    def slope(self) -> Float[np.ndarray, " d"]:
        """Derivative of the transformed column in the middle of its range."""
        return 1 / (self.deviation * self.deviation_after)


class LabelScale(NamedTuple):
    """Labels of zero mean and unit variance, compressed beyond ``clip`` deviations."""

    centre: float
    scale: float
    clip: float = np.inf
    low: float = -np.inf
    high: float = np.inf

    @classmethod
    def of(cls, labels: Float[np.ndarray, " n"], roots: Roots = 1.0) -> LabelScale:
        """Mean and deviation of these labels; a constant label has the scale 1."""
        return cls(float(np.mean(roots**2 * labels)), float(labels.std()) or 1.0)

    @classmethod
    def compressing(cls, labels: Float[np.ndarray, " n"], clip: float) -> LabelScale | None:
        """A scale from the middle of labels with heavy tails; None where these are light."""
        standard = (labels - labels.mean()) / (labels.std() or 1.0)
        low, middle, high = np.quantile(labels, [0.25, 0.5, 0.75])
        if np.mean(standard**4) <= HEAVY_LABEL or low == high:
            return None
        # What goes on as an exponential stays near the labels that were seen.
        least, most = float(labels.min()), float(labels.max())
        margin = 0.1 * (most - least)
        scale = float(high - low) / 1.349
        return cls(float(middle), scale, clip, least - margin, most + margin)

    def apply(self, labels: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Labels on this scale."""
        return _compress((labels - self.centre) / self.scale, self.clip)

    def invert(self, values: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
        """Values on this scale as labels."""
        return np.clip(self.centre + self.scale * _expand(values, self.clip), self.low, self.high)


def what_was_done_to_rows(
    given: Float[np.ndarray, "n d"],
    filled: Float[np.ndarray, "n e"],
    filler: Filler,
    scaler: TailScaler,
    labels: LabelScale,
) -> tuple[str, ...]:
    """What became of rows and labels, in words; nothing where nothing had to be done."""
    holes = int(filler.missing(given).sum())
    codes = ", ".join(f"{code:g}" for code in np.unique(filler.codes[~np.isnan(filler.codes)]))
    cut = int(np.sum((filled < scaler.low) | (filled > scaler.high)))
    constant = int(np.isinf(scaler.deviation).sum())
    done = {
        f"took {codes} for missing: repeated far outside of the other numbers of a column": codes,
        f"filled {counted(holes, 'missing number')} by medians of their columns, and marked them "
        f"where there are {LEAST_MARKED} or more in one": holes,
        f"cut off {counted(cut, 'number')} far outside of the range of their columns": cut,
        f"ignored {counted(constant, 'constant column')}": constant,
        "compressed the tails of the label": np.isfinite(labels.clip),
    }
    return tuple(words for words, count in done.items() if count)


def column_fences(inputs: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest number of each column that is taken at its word."""
    low, high = np.full((2, inputs.shape[1]), np.inf)
    low = -low
    for pair in SPREADS[::-1]:
        # Numbers of the column, not between them: a rare 1 among zeros is not far out.
        below, middle, above = np.quantile(
            inputs, [pair[0], 0.5, pair[1]], axis=0, method="inverted_cdf"
        )
        # Each side has its own distance, as skewed columns need, or half of both where it has none.
        half = (above - below) / 2
        down = np.where(middle > below, middle - below, half)
        up = np.where(above > middle, above - middle, half)
        low = np.where(half > 0, below - 2 * FENCE * down, low)
        high = np.where(half > 0, above + 2 * FENCE * up, high)
    centre = np.median(inputs, axis=0)
    down, up = _reach(centre - inputs, centre - low), _reach(inputs - centre, high - centre)
    return centre - down, centre + up


def _codes_for_missing(inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " d"]:
    """The number beyond the fences of each column that stands there most often; once is no code."""
    low, high = column_fences(inputs)
    codes = np.full(inputs.shape[1], np.nan)
    for column in np.flatnonzero(((inputs < low) | (inputs > high)).any(axis=0)):
        values = inputs[:, column]
        far = values[(values < low[column]) | (values > high[column])]
        found, counts = np.unique(far, return_counts=True)
        if counts.max() > 1:
            codes[column] = found[counts.argmax()]
    return codes


def _reach(
    distances: Float[np.ndarray, "n d"], fences: Float[np.ndarray, " d"]
) -> Float[np.ndarray, " d"]:
    """The fences, moved out where smaller numbers lead up to the largest.

    >>> _reach(np.array([[1.0, 1.0], [4.0, 9.0], [12.0, 99.0]]), np.array([10.0, 10.0])).tolist()
    [72.0, 54.0]
    """
    ordered = np.sort(distances, axis=0)
    alone = (ordered[1:] > GAP * ordered[:-1]) & (ordered[1:] > fences)
    last = np.where(alone.any(axis=0), alone.argmax(axis=0), len(ordered) - 1)
    return np.maximum(fences, GAP * np.take_along_axis(ordered, last[None], axis=0)[0])


def column_deviation(
    mean: Float[np.ndarray, " d"], deviation: Float[np.ndarray, " d"]
) -> Float[np.ndarray, " d"]:
    """Deviations, infinite for a constant column."""
    # Rounding leaves a constant column of 1e8 with a deviation of 1e-8.
    constant: Bool[np.ndarray, " d"] = deviation <= 1e-12 * np.abs(mean)
    return np.where(constant | (deviation == 0), np.inf, deviation)


def _compress(scaled: Float[np.ndarray, "*n"], clip: float) -> Float[np.ndarray, "*n"]:
    """The same numbers up to ``clip``, a logarithm beyond; rows in C order are overwritten."""
    flat = scaled.reshape(-1)
    far = np.flatnonzero(np.abs(flat) > clip)
    beyond = flat[far]
    flat[far] = np.sign(beyond) * (clip + np.log1p(np.abs(beyond) - clip))
    return flat.reshape(scaled.shape)


def _expand(compressed: Float[np.ndarray, "*n"], clip: float) -> Float[np.ndarray, "*n"]:
    """The inverse of :func:`_compress`, in an array of its own.

    >>> _expand(_compress(np.array([-20.0, 1.0, 5.0]), 3.0), 3.0).round(12).tolist()
    [-20.0, 1.0, 5.0]
    """
    far = np.maximum(np.abs(compressed) - clip, 0.0)
    return np.sign(compressed) * (np.minimum(np.abs(compressed), clip) + np.expm1(far))


def _column_moments(inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean = inputs.mean(axis=0)
    return mean, column_deviation(mean, inputs.std(axis=0))

"""The index model, one direction after the other: a spectral start, then Gauss-Newton steps."""

from __future__ import annotations

from functools import partial
from itertools import combinations, pairwise

import numpy as np
from jaxtyping import Float

from giantstep.estimators.index_model import IndexModel, fit_index_model
from giantstep.estimators.moments import Whitening, candidate_directions, residual_weights
from giantstep.estimators.tails import TailScaler
from giantstep.numerics.ridge.scaled import Roots

#: A moment is looked at if it exceeds this share of what permuted rows give.
THRESHOLD = 0.9
#: Rows that are enough to choose between starts.
ENOUGH_ROWS = 1000
#: Giant steps after a direction was added.
POLISH = 6
#: A direction must lower the GCV score by this share, or stand out by this ratio, to go on.
GAIN, CLEAR_RATIO = 0.01, 1.2
#: Starts with a larger cosine are one start.
SAME = 0.95
#: A direction that lowers the score by this share may have mended what an earlier one missed, and
#: giant steps of the shorter model that is then tried, and of other links.
CLEAR_GAIN, SHORT_POLISH = 0.1, 3
#: Giant steps after which pairs of starts are compared; one is too few to tell them apart.
PAIR_STEPS = 3
#: Columns have tails if more than this share of the numbers is compressed; of normal ones .0027 is.
HEAVY = 0.006
#: A polynomial of columns with tails is as good as other links if its error is larger by no more.
AS_GOOD = 0.02
#: Degrees of polynomials that are tried as links.
DEGREES = (2, 3)
#: A direction that leaves less than this share of the score is found: no search by pairs is needed.
FOUND = 0.5

#: A model of other rows whose score is less by this share has found what these rows missed.
MISSED = 0.2


def most_fitted_directions(rows: int, columns: int, wanted: int) -> int:
    """How many directions this many rows can carry.

    >>> [most_fitted_directions(*size, 8) for size in ((300, 10), (1000, 10), (1000, 100))]
    [4, 6, 4]
    """
    return min(wanted, columns, max(2, int(rows / (2.5 * columns))), max(4, rows // 150))


def fit_index_path(
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    *,
    most: int,
    units: int,
    generator: np.random.Generator,
    extra: Float[np.ndarray, "d k"] | None = None,
    threshold: float = THRESHOLD,
    chances: dict[int, tuple[float, ...]] | None = None,
    degree: int = 0,
    roots: Roots = 1.0,
) -> list[IndexModel]:
    """Index models of 1, 2, ... directions; shorter where no further direction is seen.

    ``extra`` are directions from elsewhere to be tried beside the moments'. ``chances`` are moments
    of permuted rows by the number of known directions; those that are missing are added. ``roots``
    are those of the weights of rows.

    The second direction is also looked for together with the first: two starts that overlap little
    with what they are after, each the other's noise, can be right as a pair. At d = 50 and n = 450
    that finds sin(2 h1) + |h2| in five of six draws, the search one by one in one of them.

    A direction that was added in vain stays in the longer models, so that at the end each of them
    is asked for its most relevant directions: a shorter model along these may be better than the
    one met on the way.
    """

    fitted = partial(fit_index_model, generator=generator, degree=degree)

    def best_of(starts: list[np.ndarray], steps: int) -> IndexModel:
        """The start whose score is least after these steps on half the units, then polished."""
        few = inputs[::step], labels[::step]
        half = max(units // 2, 1)
        tried = [fitted(start, *few, units=half, steps=steps, roots=some) for start in starts]
        return refined(min(tried, key=lambda model: model.score).directions, POLISH)

    def refined(start: np.ndarray, steps: int) -> IndexModel:
        return fitted(start, inputs, labels, units=units, steps=steps, roots=roots)

    if not inputs.any():
        return []
    step = -(-len(labels) // ENOUGH_ROWS)
    some = roots if isinstance(roots, float) else roots[::step]
    whitening = Whitening.of(inputs)
    white = inputs @ whitening.inverse_root
    path: list[IndexModel] = []
    chances = {} if chances is None else chances
    directions = np.zeros((inputs.shape[1], 0))
    residuals = labels - labels.mean()
    while len(path) < most:
        known = _orthonormal_fit_directions(whitening.root @ directions)
        weights = residual_weights(residuals, inputs @ directions, generator, roots=roots)
        outside = white - (white @ known) @ known.T
        found, chance = candidate_directions(
            outside, weights, generator, threshold=threshold, chance=chances.get(len(path))
        )
        if chance:
            chances[len(path)] = chance
        starts = [candidate.direction for candidate in found]
        if extra is not None:
            starts += list((whitening.root @ extra).T)
        trials = [whitening.inverse_root @ start for start in _fit_starts_apart(starts, known)]
        if not trials:
            break
        if not path:
            alone = trials
        model = best_of([np.column_stack([directions, trial]) for trial in trials], 1)
        scores = [float(np.var(labels)), *(found.score for found in path), model.score]
        if len(path) == 1 and all(b > FOUND * a for a, b in pairwise(scores)):
            both = combinations([path[0].directions[:, 0], *alone], 2)
            together = best_of([np.column_stack(pair) for pair in both], PAIR_STEPS)
            model = min(model, together, key=lambda model: model.score)
        if model.directions.shape[1] <= directions.shape[1]:
            break
        path.append(model)
        directions, residuals = model.directions, model.residuals
        clear = max((candidate.ratio for candidate in found), default=0.0) >= CLEAR_RATIO
        if model.score > (1 - GAIN) * scores[-2] and not clear:
            break
    for rank in range(len(path) - 1, 0, -1):
        longer, shorter = path[rank], path[rank - 1]
        if longer.score < (1 - CLEAR_GAIN) * shorter.score:
            trial = refined(_most_relevant(longer, inputs, rank), SHORT_POLISH)
            path[rank - 1] = min(shorter, trial, key=lambda model: model.score)
    return path


def index_path_with_tails(
    path: list[IndexModel],
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    scaler: TailScaler,
    *,
    units: int,
    generator: np.random.Generator,
    roots: Roots = 1.0,
) -> list[IndexModel]:
    """The path, with polynomial links, and with uncompressed columns, where these are better.

    An index is a sum of columns; compressed columns add up to something else. Directions are looked
    for in both. Rows in the tails decide, so that leave-one-out errors choose.
    """
    raw = scaler.uncompressed(inputs)
    with_tails = partial(fit_index_model, units=units, generator=generator, roots=roots)
    tried = [[model] for model in path]
    starts: list[tuple[np.ndarray, TailScaler | None, tuple[int, ...], list[IndexModel]]] = [
        (inputs, None, DEGREES, path)
    ]
    # A column of two values only changes its scale when it is compressed.
    two = ((raw == raw.min(axis=0)) | (raw == raw.max(axis=0))).all(axis=0)
    if np.mean((np.abs(raw) > scaler.clip) & ~two) > HEAVY:
        scale = np.where(np.isinf(scaler.deviation_after), 0.0, 1 / scaler.deviation_after)
        turned = [model._replace(directions=model.directions * scale[:, None]) for model in path]
        # What a few rows far out decide is found with the few numbers of a polynomial.
        degree, most = DEGREES[-1], len(path)
        other = fit_index_path(
            raw, labels, most=most, units=units, generator=generator, degree=degree, roots=roots
        )
        starts += [(raw, scaler, (0, *DEGREES), models) for models in (turned, other)]
    for read, reader, degrees, models in starts:
        for found, model in zip(tried, models, strict=False):
            for degree in degrees:
                trial = with_tails(
                    model.directions, read, labels, steps=SHORT_POLISH, degree=degree
                )
                found.append(trial._replace(scaler=reader))
    return [_simplest(found, inputs, labels, roots) for found in tried]


def _simplest(
    models: list[IndexModel], inputs: np.ndarray, labels: np.ndarray, roots: Roots
) -> IndexModel:
    """The model of least leave-one-out error; of columns with tails, a polynomial that is as good.

    Rows hardly tell a cubic from units that follow it; but only the cubic goes on beyond the data,
    where the tails of the columns lead.
    """
    errors = [float(model.leave_one_out(inputs, labels, roots).mean()) for model in models]
    going_on = [model.scaler is not None and model.link.degree > 0 for model in models]
    chosen = np.argmin(np.array(errors) * np.where(going_on, 1 - AS_GOOD, 1.0))
    return models[int(chosen)]


def path_with_found_directions(
    path: list[IndexModel],
    found: list[IndexModel],
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    *,
    units: int,
    generator: np.random.Generator,
    roots: Roots = 1.0,
) -> list[IndexModel]:
    """The path, with models along the directions of another one where these are clearly better.

    A search may miss what a search on nearly the same rows has ``found``.
    """
    better = list(path)
    for rank, model in enumerate(found[: len(path) + 1]):
        before = better[min(rank, len(better) - 1)].score if better else float(labels.var())
        if model.score > (1 - MISSED) * before:
            continue
        trial = fit_index_model(
            model.directions,
            inputs if model.scaler is None else model.scaler.uncompressed(inputs),
            labels,
            units=units,
            steps=SHORT_POLISH,
            generator=generator,
            degree=model.link.degree,
            roots=roots,
        )._replace(scaler=model.scaler)
        if trial.score < before:
            better[rank : rank + 1] = [trial]
    return better


def _most_relevant(model: IndexModel, inputs: np.ndarray, count: int) -> np.ndarray:
    """Directions in the model's span along which its link moves most."""
    gradient = model.link.gradient(model.indices(inputs))
    return model.directions @ np.linalg.eigh(gradient.T @ gradient)[1][:, -count:]


def _orthonormal_fit_directions(directions: np.ndarray) -> np.ndarray:
    return np.linalg.qr(directions)[0] if directions.shape[1] else directions


def _fit_starts_apart(starts: list[np.ndarray], known: np.ndarray) -> list[np.ndarray]:
    """Those that are not in the known span, nor nearly along an earlier one off that span."""
    kept: list[np.ndarray] = []
    seen: list[np.ndarray] = []
    for start in starts:
        outside = start - known @ (known.T @ start)
        length = float(np.linalg.norm(outside))
        if length <= 1e-6 * float(np.linalg.norm(start)):
            continue
        unit = outside / length
        if all(abs(float(unit @ other)) < SAME for other in seen):
            kept.append(start)
            seen.append(unit)
    return kept

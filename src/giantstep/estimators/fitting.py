"""Fit a person's table: the pipeline, its score beside simple peers, and its directions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from giantstep.errors import GiantstepError
from giantstep.estimators.classifier import GiantStepClassifier
from giantstep.estimators.directions import IndexDirections
from giantstep.estimators.regressor import GiantStepRegressor
from giantstep.estimators.tables import Prepared

#: Folds over which scores are compared.
FOLDS = 5
#: Kernels with a row for every sample stop being cheap beyond this many rows.
MOST_KERNEL_ROWS = 5000


@dataclass(frozen=True)
class Score:
    """Mean over folds of R^2 (regression) or accuracy (classification), and its standard error."""

    name: str
    mean: float
    sem: float


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted pipeline, scores by cross-validation, and the directions with their test."""

    pipeline: Pipeline
    scores: tuple[Score, ...]
    directions: IndexDirections | None
    task: str
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    inputs: tuple[str, ...]

    def report(self, file: str, label: str, rows: int) -> str:
        """A few lines for the terminal."""
        kind = "accuracy" if self.task == "classification" else "R2"
        lines = [f"{file}: {label} from {len(self.columns)} columns, {rows} rows", ""]
        lines.append(f"cross-validated {kind}, with standard error over {FOLDS} folds")
        lines += [f"  {s.name:<20} {s.mean:7.3f} +- {s.sem:.3f}" for s in self.scores]
        found = self.directions
        if found is not None:
            lines += ["", self._directions_line(found)]
            lines += [f"  {line}" for line in self._direction_lines(found)]
        return "\n".join(lines)

    def _directions_line(self, found: IndexDirections) -> str:
        count = found.n_directions_
        number = "no direction" if count == 0 else f"{count} direction" + "s" * (count > 1)
        return f"{number} found (p = {found.pvalue_:.2g} for the label depending on nothing)"

    def _direction_lines(self, found: IndexDirections) -> list[str]:
        """Each direction by its largest columns, for columns of unit variance."""
        lines = []
        scaled = found.directions_ * found.deviation_[:, None]
        for number, direction in enumerate(scaled.T, 1):
            top = np.argsort(-np.abs(direction))[:5]
            terms = ", ".join(f"{direction[i]:+.2f} {self.columns[i]}" for i in top)
            score = found.z_scores_[number - 1] if hasattr(found, "z_scores_") else np.nan
            lines.append(f"{number}: {terms}  (better than before by {score:.1f} standard errors)")
        return lines

    def to_json(self) -> dict[str, Any]:
        """The object that ``fit --json`` prints."""
        found = self.directions
        return {
            "task": self.task,
            "columns": list(self.columns),
            "scores": {score.name: {"mean": score.mean, "sem": score.sem} for score in self.scores},
            "directions": None
            if found is None
            else {
                "count": found.n_directions_,
                "pvalue": found.pvalue_,
                "z_scores": getattr(found, "z_scores_", np.zeros(0)).tolist(),
                "vectors": found.directions_.T.tolist(),
            },
            "notes": list(self.notes),
        }


def fit_table(
    prepared: Prepared, *, seed: int = 0, progress: Callable[[float], None] | None = None
) -> Fitted:
    """Fit the table, and score the same fit by cross-validation beside simple peers."""
    tell = progress or (lambda fraction: None)
    classes = prepared.task == "classification"
    rows = len(prepared.labels)
    notes = list(prepared.notes)
    folds: Any
    if classes:
        smallest = int(np.unique(prepared.labels, return_counts=True)[1].min())
        if len(np.unique(prepared.labels)) < 2:
            raise GiantstepError("the label has one class only: a classifier needs at least two")
        folds = StratifiedKFold(max(2, min(FOLDS, smallest)), shuffle=True, random_state=seed)
    else:
        folds = KFold(min(FOLDS, rows), shuffle=True, random_state=seed)
    models = _peers(classes, rows)
    ours: Any = (GiantStepClassifier if classes else GiantStepRegressor)(random_state=seed)
    models = {"giantstep": ours, **models}
    scores = []
    for position, (name, model) in enumerate(models.items()):
        pipeline = make_pipeline(clone(prepared.encoder), model)
        values = cross_val_score(
            pipeline,
            prepared.inputs,
            prepared.labels,
            cv=folds,
            scoring="accuracy" if classes else "r2",
        )
        error = float(values.std(ddof=1) / np.sqrt(len(values)))
        scores.append(Score(name, float(values.mean()), error))
        tell(0.8 * (position + 1) / len(models))
    pipeline = make_pipeline(clone(prepared.encoder), clone(ours))
    pipeline.fit(prepared.inputs, prepared.labels)
    tell(0.9)
    encoded = pipeline[:-1].transform(prepared.inputs)
    directions = None
    if not classes:
        directions = IndexDirections(random_state=seed).fit(encoded, prepared.labels)
    tell(1.0)
    names = tuple(map(str, pipeline[:-1].get_feature_names_out()))
    inputs = tuple(prepared.inputs.columns)
    return Fitted(pipeline, tuple(scores), directions, prepared.task, tuple(notes), names, inputs)


def save_model(fitted: Fitted, path: Path) -> None:
    """The pipeline with the names of the columns it needs, for ``giantstep apply``."""
    import joblib

    joblib.dump({"giantstep": 1, "pipeline": fitted.pipeline, "inputs": fitted.inputs}, path)


def apply_model(path: Path, frame: pd.DataFrame) -> np.ndarray:
    """Predictions of a kept model for the rows of a table that has its columns."""
    import joblib

    try:
        kept = joblib.load(path)
        pipeline, columns = kept["pipeline"], kept["inputs"]
    except FileNotFoundError:
        raise GiantstepError(f"model = {str(path)!r} does not exist") from None
    except Exception as error:
        raise GiantstepError(
            f"model = {str(path)!r} was not written by giantstep fit ({type(error).__name__})"
        ) from None
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise GiantstepError(f"the table lacks the column {missing[0]!r} that the model needs")
    numbers = pipeline[0].transformers_[0][2]
    rows = frame[list(columns)].copy()
    for name in numbers:
        values = pd.to_numeric(rows[name], errors="coerce").astype(float)
        rows[name] = values.replace([np.inf, -np.inf], np.nan)
    return pipeline.predict(rows)


def _peers(classes: bool, rows: int) -> dict[str, Any]:
    """What a person would try first."""
    if classes:
        peers: dict[str, Any] = {
            "most frequent class": DummyClassifier(),
            "logistic": make_pipeline(
                StandardScaler(),
                LogisticRegression(
                    Cs=7, max_iter=2000, l1_ratios=(0.0,), use_legacy_attributes=False
                ),
            ),
        }
        if rows <= MOST_KERNEL_ROWS:
            grid = {"svc__C": [1, 10, 100]}
            svc = make_pipeline(StandardScaler(), SVC())
            peers["kernel"] = GridSearchCV(svc, grid, cv=3)
        return peers
    peers = {
        "mean": DummyRegressor(),
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-4, 4, 25))),
    }
    if rows <= MOST_KERNEL_ROWS:
        choices: dict[str, Any] = {
            "kernelridge__alpha": np.logspace(-5, 1, 7),
            "kernelridge__gamma": [None, 0.01, 0.1],
        }
        kernel = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))
        peers["kernel ridge"] = GridSearchCV(kernel, choices, cv=3)
    return peers

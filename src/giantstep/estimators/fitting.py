"""Fit a person's table: the pipeline, its score beside simple peers, and its directions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from giantstep.answer.plain import counted
from giantstep.errors import GiantstepError
from giantstep.estimators.axes import AxisModel
from giantstep.estimators.classifier import GiantStepClassifier
from giantstep.estimators.experts import Experts, StackSizes
from giantstep.estimators.forecast import Slope
from giantstep.estimators.index_model import IndexModel, Link
from giantstep.estimators.laplace import Choice, LaplaceKernel
from giantstep.estimators.random_network import RandomNetwork
from giantstep.estimators.regressor import GiantStepRegressor
from giantstep.estimators.stack import CrossFitted, Stack, held_out_score
from giantstep.estimators.tables import Prepared, ReadColumns, plain_column_name
from giantstep.estimators.tails import Filler, LabelScale, TailScaler
from giantstep.estimators.trees import Trees
from giantstep.files import file_written_beside
from giantstep.numerics.ridge.path import PathFit

#: Folds over which scores are compared.
FOLDS = 5
#: Columns that matter make up this share of the importances.
MATTER = 0.9
#: Standard errors from which directions are spoken of.
CLEAR = 3.0
#: Another method is recommended if it is better by this much, and by so many standard errors of
#: the difference: by one, folds name the wrong method more often than the right one.
WORTH_MOVING, CLEARLY_BETTER = 0.01, 2.0
#: Rows up to which the fits to parts of the rows, which the forecast needs, are made.
MOST_FORECAST_ROWS = 2000
#: Kernels with a row for every sample stop being cheap beyond this many rows.
MOST_KERNEL_ROWS = 5000


#: What a kept model may hold beside scikit-learn's own classes.
TRUSTED = [
    "numpy.dtype",
    *(
        f"{kind.__module__}.{kind.__qualname__}"
        for kind in (
            AxisModel,
            Choice,
            CrossFitted,
            Experts,
            Filler,
            PathFit,
            GiantStepClassifier,
            GiantStepRegressor,
            IndexModel,
            LabelScale,
            LaplaceKernel,
            Link,
            RandomNetwork,
            ReadColumns,
            StackSizes,
            Slope,
            Stack,
            TailScaler,
            Trees,
        )
    ),
]


@dataclass(frozen=True)
class Score:
    """R^2 (regression) or accuracy (classification) on held-out rows, and its standard error."""

    name: str
    mean: float
    sem: float

    def __str__(self) -> str:
        if self.mean < -1:
            return "below -1"
        # As many places as the error needs to be seen.
        places = min(max(2, math.ceil(-math.log10(self.sem))), 4) if self.sem > 0 else 2
        return f"{self.mean:.{places}f} +- {self.sem:.{places}f}"


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted pipeline, its scores and those of peers on held-out rows, and a forecast.

    ``advice`` names the peer that is clearly better; ``curve`` is what more rows would buy.
    """

    pipeline: Pipeline
    scores: tuple[Score, ...]
    task: str
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    inputs: tuple[str, ...]
    advice: str | None = None
    curve: pd.DataFrame | None = None

    @property
    def model(self) -> Any:
        """The estimator at the end of the pipeline."""
        return self.pipeline[-1]

    @property
    def shown(self) -> GiantStepRegressor | None:
        """The regressor whose directions are shown; None where classes have one each."""
        if isinstance(self.model, GiantStepRegressor):
            return self.model
        return self.model.regressors_[0] if len(self.model.regressors_) == 1 else None

    @property
    def forecast_known(self) -> bool:
        """Whether the forecast has numbers."""
        return self.curve is not None and bool(self.curve["r2"].notna().all())

    @property
    def kind(self) -> str:
        """What the scores are."""
        return "accuracy" if self.task == "classification" else "R2"

    def verdict(self) -> str:
        """The answer in one sentence."""
        ours, simplest, *peers = self.scores
        best = next((score for score in peers if score.name == self.advice), ours)
        # What needs no column at all: for R2 that is 0, whatever the folds made of the mean.
        floor = simplest.mean if self.task == "classification" else 0.0
        is_nothing = best.mean - floor < 2 * best.sem
        rivals = self.scores[1:] if is_nothing else [each for each in peers if each is not best]
        said = ", ".join(f"{score.name} {str(score).partition(' +-')[0]}" for score in rivals)
        found = f"{self.kind} {ours} ({said})"
        if is_nothing:
            text = f"Nothing was found that predicts new rows: {found}"
        elif best is not ours:
            text = f"Use {self.advice} here: {self.kind} {best}, giantstep {ours} ({said})"
        else:
            text = f"{self._columns_that_matter()}; {found}"
        if self.curve is not None and not self.forecast_known:
            text += "; what more rows would buy cannot be known from these"
        elif self.curve is not None:
            twice = self.curve.iloc[0]
            half = (twice["r2_high"] - twice["r2_low"]) / 2
            whom = "twice the rows would give" if best is ours else "giantstep with twice the rows:"
            text += f"; {whom} about {twice['r2']:.2f} +- {half:.2f}"
        return text + "."

    def _columns_that_matter(self) -> str:
        order = np.argsort(-self.model.feature_importances_)
        shares = np.cumsum(self.model.feature_importances_[order])
        count = int(np.searchsorted(shares, MATTER)) + 1
        named = ", ".join(self.columns[i] for i in order[: min(count, 4)])
        if count == 1:
            return f"One column matters ({named})"
        more = f" and {count - 4} more" if count > 4 else ""
        return f"{count} columns matter ({named}{more}){self._combined()}"

    @property
    def clear(self) -> bool:
        """Whether held-out rows support the directions that are shown."""
        return self.shown is not None and bool(self.shown.evidence_ >= CLEAR)

    def _combined(self) -> str:
        """In how many combinations, where held-out rows support them and they predict."""
        if self.shown is None or not self.clear or self.expert_shares()["index"] < 0.5:
            return ""
        count = self.shown.directions_.shape[1]
        return ", in one combination" if count == 1 else f", in {count} combinations"

    def expert_shares(self) -> dict[str, float]:
        """The share of the prediction that each kind of expert has: index, kernel, network, ..."""
        shares: dict[str, float] = {"index": 0.0}
        for name, weight in self.model.weights_.items():
            kind = name.partition("-")[0]
            shares[kind] = shares.get(kind, 0.0) + weight
        return shares

    def direction_lines(self) -> list[str]:
        """What is known of the directions: one story, from rows held out."""
        model = self.shown
        if model is None or not model.directions_.shape[1]:
            return []
        if not self.clear:
            return ["no combination of columns stands out from chance on rows held out"]
        number, shares = model.directions_.shape[1], self.expert_shares()
        most = max(shares, key=lambda kind: shares[kind])
        rest = "" if most == "index" else f" (the experts '{most}' {100 * shares[most]:.0f} %)"
        lines = [
            f"{counted(number, 'direction')}: held-out rows support the link by "
            f"{model.evidence_:.1f} standard errors, and directions make up "
            f"{100 * shares['index']:.0f} % of the prediction{rest}"
        ]
        words = zip(model.direction_words(), model.stability_, strict=True)
        lines += [
            f"  {place}: {text}  (found again without a fold: cosine {cosine:.2f})"
            for place, (text, cosine) in enumerate(words, 1)
        ]
        return lines

    def report(self, file: str, label: str, rows: int) -> str:
        """A few lines for the terminal."""
        lines = [f"{file}: {label} from {len(self.columns)} columns, {rows} rows", ""]
        lines += [self.verdict(), "", f"{self.kind} on rows held out, with its standard error"]
        lines += [f"  {score.name:<20} {score}" for score in self.scores]
        directions = self.direction_lines()
        return "\n".join([*lines, *[""] * bool(directions), *directions])

    def to_json(self) -> dict[str, Any]:
        """The object that ``fit --json`` prints."""
        model = self.model
        found: dict[str, Any] = {
            "task": self.task,
            "verdict": self.verdict(),
            "columns": list(self.columns),
            "scores": {score.name: {"mean": score.mean, "sem": score.sem} for score in self.scores},
            "advice": self.advice,
            "weights": model.weights_,
            "importances": model.feature_importances_.tolist(),
            "notes": list(self.notes),
        }
        if self.shown is not None:
            found["directions"] = {
                "count": self.shown.directions_.shape[1],
                "evidence": self.shown.evidence_,
                "stability": self.shown.stability_.tolist(),
                "vectors": self.shown.directions_.T.tolist(),
            }
        if self.curve is not None and self.forecast_known:
            found["more_rows"] = self.curve.to_dict("records")
        return found


def fit_table(
    prepared: Prepared, *, seed: int = 0, progress: Callable[[float], None] | None = None
) -> Fitted:
    """Fit the table, and score it and simple peers on rows held out."""
    tell = progress or (lambda fraction: None)
    classes = prepared.task == "classification"
    labels, rows = prepared.labels, len(prepared.labels)
    ours: Any = (GiantStepClassifier if classes else GiantStepRegressor)(random_state=seed)
    pipeline = make_pipeline(clone(prepared.encoder), ours).fit(prepared.inputs, labels)
    tell(0.3)
    scores, losses = [Score("giantstep", ours.oof_score_, ours.oof_score_sem_)], {}
    folds: Any = KFold(min(FOLDS, rows), shuffle=True, random_state=seed)
    if classes:
        smallest = int(np.unique(labels, return_counts=True)[1].min())
        folds = StratifiedKFold(max(2, min(FOLDS, smallest)), shuffle=True, random_state=seed)
    peers = _peer_estimators(classes, rows)
    filler = SimpleImputer(strategy="median", add_indicator=True)
    for position, (name, model) in enumerate(peers.items(), 1):
        with warnings.catch_warnings():
            # A class may have fewer rows than there are folds.
            warnings.simplefilter("ignore", UserWarning)
            said = cross_val_predict(
                make_pipeline(clone(prepared.encoder), clone(filler), model),
                prepared.inputs,
                labels,
                cv=folds,
            )
        if classes:
            right = (said == labels).astype(float)
            scores.append(Score(name, float(right.mean()), float(right.std() / rows**0.5)))
        else:
            scores.append(Score(name, *held_out_score(labels - said, labels)))
            losses[name] = (labels - said) ** 2
        tell(0.3 + 0.3 * position / len(peers))
    curve = None
    if not classes and rows <= MOST_FORECAST_ROWS:
        curve = ours.learning_curve()
    tell(1.0)
    notes = (*prepared.notes, *ours.notes_)
    names = tuple(map(str, pipeline[:-1].get_feature_names_out()))
    inputs = tuple(prepared.inputs.columns)
    best = max(scores, key=lambda score: score.mean)
    # Rows that two methods share say more about their difference than two standard errors.
    spread = best.sem
    if best.name in losses:
        gaps = (ours.held_out_errors_**2 - losses[best.name]) / max(float(labels.var()), 1e-300)
        spread = CLEARLY_BETTER * float(gaps.std()) / rows**0.5
    clear = best.mean - scores[0].mean > max(WORTH_MOVING, spread)
    advice = best.name if clear else None
    return Fitted(pipeline, tuple(scores), prepared.task, notes, names, inputs, advice, curve)


def save_fitted_model(fitted: Fitted, path: Path) -> None:
    """The pipeline with the names of the columns it needs, for ``giantstep apply``."""
    skops = _skops()
    with file_written_beside(path) as beside:
        skops.dump({"pipeline": fitted.pipeline, "inputs": fitted.inputs}, beside)


def apply_fitted_model(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Predictions of a kept model for the rows of a table that has its columns.

    With the bounds of 90 % intervals, or with the probability of the class. No file runs code
    here: what it holds is looked at first, and only classes of scikit-learn and of the list
    ``TRUSTED`` are made.
    """
    skops = _skops()
    try:
        strange = set(skops.get_untrusted_types(file=path)) - set(TRUSTED)
        kept: dict[str, Any] = (
            {"pipeline": (), "inputs": ()} if strange else skops.load(path, trusted=TRUSTED)
        )
        pipeline, columns = kept["pipeline"], kept["inputs"]
    except FileNotFoundError:
        raise GiantstepError(f"model = {str(path)!r} does not exist") from None
    except Exception as error:
        raise GiantstepError(
            f"model = {str(path)!r} was not written by giantstep fit ({type(error).__name__})"
        ) from None
    if strange:
        raise GiantstepError(
            f"model = {str(path)!r} was not written by giantstep fit: it asks "
            f"for {plain_column_name(min(strange))}, which no model of ours needs; nothing of it "
            "was run"
        )
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise GiantstepError(f"the table lacks the column {missing[0]!r} that the model needs")
    rows = pipeline[:-1].transform(frame[list(columns)])
    model = pipeline[-1]
    if isinstance(model, GiantStepClassifier):
        probability = model.predict_proba(rows).max(axis=1)
        return pd.DataFrame({"prediction": model.predict(rows), "probability": probability})
    values, interval = model.predict(rows, return_interval=0.9)
    low, high = interval.T
    return pd.DataFrame({"prediction": values, "prediction_low": low, "prediction_high": high})


def _skops() -> ModuleType:
    try:
        import skops.io
    except ImportError:
        raise GiantstepError("models are kept by the package skops: pip install skops") from None
    return skops.io


def _peer_estimators(classes: bool, rows: int) -> dict[str, Any]:
    """What a person would try first."""
    if classes:
        peers: dict[str, Any] = {
            "most frequent class": DummyClassifier(),
            "logistic": GridSearchCV(
                make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
                {"logisticregression__C": np.logspace(-3, 3, 7)},
                cv=3,
            ),
            "boosted trees": HistGradientBoostingClassifier(random_state=0),
        }
        if rows <= MOST_KERNEL_ROWS:
            grid = {"svc__C": [1, 10, 100]}
            svc = make_pipeline(StandardScaler(), SVC())
            peers["kernel"] = GridSearchCV(svc, grid, cv=3)
        return peers
    peers = {
        "mean": DummyRegressor(),
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-4, 4, 25))),
        "boosted trees": HistGradientBoostingRegressor(random_state=0),
    }
    if rows <= MOST_KERNEL_ROWS:
        choices: dict[str, Any] = {
            "kernelridge__alpha": np.logspace(-5, 1, 7),
            "kernelridge__gamma": [None, 0.01, 0.1],
        }
        kernel = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))
        peers["kernel ridge"] = GridSearchCV(kernel, choices, cv=3)
    return peers

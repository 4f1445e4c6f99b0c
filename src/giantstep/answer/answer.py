"""`Answer`: what was measured and predicted, as one labelled array over all that was asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from giantstep.answer.axis import Axis
from giantstep.answer.places import STEP, Datum, Located, Place, metric_entries
from giantstep.answer.plain import unique
from giantstep.answer.records import Metrics, Prediction, Run, Status, weakest_status
from giantstep.errors import GiantstepError
from giantstep.language.problem import FIELDS, NoTarget, Problem, TreeProblem
from giantstep.numerics.estimate import FALSE_ALARMS, student_quantile
from giantstep.settings.options import Settings, Values

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes

    from giantstep.answer.selection import GivenMetric


Record = TypeVar("Record", Run, Prediction)


@dataclass(frozen=True)
class Question:
    """A learner's settings on a problem: one point of a grid."""

    settings: Settings
    problem: Problem | TreeProblem | NoTarget

    def replace(self, name: str, value: Any) -> Question:
        """The same question with one thing changed."""
        if name in FIELDS:
            changed: Any = dataclasses.replace(self.problem, **{name: value})
            return Question(self.settings, changed)
        return Question(self.settings.replace(**{name: value}), self.problem)


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """What a learner does and what theory says, at a point or over a grid of settings.

    ``axes`` are what was swept, by name: none for a point, one for a curve, any number for a grid.
    ``questions`` holds the typed settings and problem of every point of the grid, the last axis
    changing fastest; ``runs`` and ``predictions`` what came of each, empty where that verb was not
    asked, None where it failed, is missing or is not covered: ``failures`` says why, by the number
    of the point and the seed (None for a prediction).

    :meth:`to_xarray` is all of it as one :class:`xarray.Dataset`. Its dimensions are the swept
    settings (coordinates: numbers, or texts such as ``2d``; sizes also as numbers, ``n``, ``n/d``,
    along the same dimensions), ``seed``, and those of the metrics: ``step``, ``time``,
    ``direction`` and so on. Its variables, for a metric ``overlap``:

    ==================  ================================  =======================================
    variable            dimensions                        what it is
    ==================  ================================  =======================================
    ``overlap``         swept, ``seed``, the metric's     measured, one number per seed
    ``overlap_theory``  swept, the metric's               predicted
    ``overlap_error``   swept, the metric's               how far off the prediction may be
    ``overlap_status``  swept                             theorem, replica, heuristic, conjecture
    ``failure``         swept, ``seed``                   why there is no measured value, if so
    ``failure_theory``  swept                             why there is no prediction, if so
    ==================  ================================  =======================================

    What does not exist is NaN, or an empty text. Arrays that a learner keeps beside its metrics
    (``cosines``) are variables too, with dimensions named after them.
    """

    learner: str
    axes: Mapping[str, Axis]
    questions: tuple[Question, ...]
    metric_axes: Mapping[str, tuple[str, ...]]
    runs: tuple[Run | None, ...] = ()
    predictions: tuple[Prediction | None, ...] = ()
    seeds: tuple[int, ...] = ()
    failures: Mapping[tuple[int, int | None], str] = field(default_factory=dict)
    metric_whens: Mapping[str, str] = field(default_factory=dict)

    # A point, or the points of a grid.

    def __len__(self) -> int:
        return len(self.questions)

    def __iter__(self) -> Iterator[Answer]:
        """The points one by one."""
        for number, question in enumerate(self.questions):
            yield dataclasses.replace(
                self,
                axes={},
                questions=(question,),
                runs=self.runs[number : number + 1],
                predictions=self.predictions[number : number + 1],
                failures={(0, s): why for (n, s), why in self.failures.items() if n == number},
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values along each axis."""
        return tuple(len(axis) for axis in self.axes.values())

    def places(self) -> Iterator[Place]:
        """Where each point stands on the axes."""
        axes = self.axes.values()
        for index in np.ndindex(self.shape):
            yield tuple((a.name, a.labels[i]) for a, i in zip(axes, index, strict=True))

    @property
    def settings(self) -> Any:
        """The settings; what was swept holds all of its values."""
        swept = {n: Values(axis.values) for n, axis in self.axes.items() if n not in FIELDS}
        first = self.questions[0].settings
        return first.replace(**swept) if swept else first

    @property
    def problem(self) -> Any:
        """The problem; of a grid over noise, inputs or targets that of the first point."""
        return self.questions[0].problem

    @property
    def target(self) -> Any:
        """The target; None where the settings say what is learned."""
        return getattr(self.problem, "target", None)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            where = f": take metrics[{name!r}]" * (name in self.__dict__.get("metric_axes", ()))
            raise AttributeError(f"an answer has no attribute {name!r}{where}")

    @property
    def run(self) -> Run:
        """The simulation of a point."""
        return self._only(self.runs, "simulation")

    @property
    def prediction(self) -> Prediction:
        """The prediction of a point."""
        return self._only(self.predictions, "prediction")

    def _only(self, records: tuple[Record | None, ...], what: str) -> Record:
        if self.axes:
            raise GiantstepError(f"this answer has {len(self)} points: take one, or to_xarray()")
        if not records or records[0] is None:
            why = "; ".join(self.failures.values()) or "it was not asked for"
            raise GiantstepError(f"this answer has no {what}: {why}")
        return records[0]

    @property
    def _record(self) -> Any:
        """The simulation of a point, or else its prediction."""
        if self.runs and self.predictions:
            raise GiantstepError("this answer has both: take .run or .prediction, or to_xarray()")
        return self.run if self.runs else self.prediction

    @property
    def metrics(self) -> Mapping[str, Any]:
        """The metrics of a point that was simulated (seeds first) or predicted."""
        return Metrics(self._record.metrics, self.lacking)

    def lacking(self, metric: str) -> str:
        """Why a metric is not here: what to give for it, or which ones are."""
        found = ", ".join(unique(number.metric for number in self.numbers()))
        if when := self.metric_whens.get(metric, ""):
            return f"metric = {metric!r} is there {when}; this answer has {found}"
        return f"metric = {metric!r} is not in this answer: use {found}"

    @property
    def arrays(self) -> Mapping[str, np.ndarray]:
        """What a point has beside its metrics, such as every neuron's cosines."""
        return self._record.arrays

    @property
    def errors(self) -> Mapping[str, Any]:
        """How far off the metrics of a predicted point may be."""
        return self.prediction.errors

    @property
    def subspaces(self) -> Any:
        """The directions learned after each step, of a predicted point."""
        return self.prediction.subspaces

    # What holds for all of it.

    @property
    def kind(self) -> str:
        """What it is."""
        parts = {"simulation": self.runs, "prediction": self.predictions}
        return " and ".join(name for name, records in parts.items() if records)

    @property
    def _laws(self) -> list[Prediction]:
        return [law for law in self.predictions if law is not None]

    @property
    def statuses(self) -> dict[str, Status]:
        """The status of each metric, over a grid the weakest."""
        names = unique(name for law in self._laws for name in law.statuses)
        return {
            n: weakest_status(p.statuses[n] for p in self._laws if n in p.statuses) for n in names
        }

    @property
    def status(self) -> Status:
        """The weakest status among the metrics; of a comparison among those that both have."""
        statuses = self.statuses
        if not self.runs:
            return weakest_status(statuses.values())
        return weakest_status(statuses[n] for n in unique(line.metric for line in self.compared()))

    @property
    def references(self) -> list[str]:
        """The papers behind the theory."""
        return unique(paper for law in self._laws for paper in law.references)

    @property
    def notes(self) -> list[str]:
        """What a reader should know beside the numbers."""
        runs = [note for run in self.runs if run is not None for note in run.notes]
        return unique([*runs, *(note for law in self._laws for note in law.notes)])

    def cite(self) -> str:
        """The papers behind it as BibTeX."""
        from giantstep.bibliography import bibtex_entries

        return bibtex_entries(self.references)

    # Its numbers.

    def located(self, number: int, metric: str, value: Any) -> Located:
        """A value of a metric at one of the points, with its axes and coordinates."""
        return metric_entries(
            value, self.metric_axes.get(metric, ()), self.questions[number].settings
        )

    def numbers(self) -> Iterator[Datum]:
        """Every number that was measured or predicted, both where both are there."""
        for number, place in enumerate(self.places()):
            measured = self._measured(number)
            for entry in self._predicted(number):
                own = measured.pop((entry.metric, entry.place), None)
                full = entry._replace(place=place + entry.place)
                if own is not None:
                    runs = len(self.runs[number].metrics[entry.metric])  # type: ignore[union-attr]
                    full = full._replace(mean=own[0], sem=own[1], runs=runs)
                yield full
            for (metric, own_place), (mean, sem) in measured.items():
                yield Datum(metric, place + own_place, mean, sem)

    def compared(self) -> Iterator[Datum]:
        """Every number that was measured and predicted for the same place."""
        return (number for number in self.numbers() if number.runs)

    def _measured(self, number: int) -> dict[tuple[str, Place], tuple[float, float]]:
        run = self.runs[number] if self.runs else None
        found: dict[tuple[str, Place], tuple[float, float]] = {}
        if run is None:
            return found
        for name in run.metrics:
            means = self.located(number, name, run.mean(name)).entries()
            for (place, mean), sem in zip(means, np.ravel(run.sem(name)), strict=True):
                found[name, place] = float(mean), float(sem)
        return found

    def _predicted(self, number: int) -> Iterator[Datum]:
        law = self.predictions[number] if self.predictions else None
        if law is None:
            return
        for name, value in law.metrics.items():
            array = self.located(number, name, value)
            errors = np.ravel(np.broadcast_to(law.errors.get(name, 0.0), np.shape(value)))
            last = array.coordinates[0][-1] if array.axes[:1] == (STEP,) else None
            for (place, theory), error in zip(array.entries(), errors, strict=True):
                # NaN at a step before the last: theory says nothing there.
                is_open = array.axes[:1] == (STEP,) and place[0][1] != last
                if is_open and np.isnan(theory):
                    continue
                yield Datum(
                    name, place, theory=float(theory), error=float(error), status=law.statuses[name]
                )

    def mean(self, metric: str) -> Any:
        """Mean of a metric over the seeds: of a point an array, of a grid a labelled one."""
        if not self.axes:
            return self.run.mean(self._measured_name(metric))
        return self.to_xarray()[metric].mean("seed")

    def sem(self, metric: str) -> Any:
        """Standard error of that mean (NaN for one seed)."""
        if not self.axes:
            return self.run.sem(self._measured_name(metric))
        values = self.to_xarray()[metric]
        return values.std("seed", ddof=1) / np.sqrt(values.notnull().sum("seed"))

    def _measured_name(self, metric: str) -> str:
        if metric not in self.run.metrics:
            raise GiantstepError(self.lacking(metric))
        return metric

    def agrees(
        self, *metrics: str, allowance: float = 0.0, false_alarms: float = FALSE_ALARMS
    ) -> bool:
        """Whether every mean lies on its theory: within t * sem + error.

        t is the Student quantile at which a theory that is right is called wrong with the rate
        ``false_alarms``, per number. ``allowance`` is added to the error, for what is known to
        vanish only as d grows. Without ``metrics``, all that were measured and predicted.
        """
        return not list(
            self.disagreements(*metrics, allowance=allowance, false_alarms=false_alarms)
        )

    def disagreements(
        self, *metrics: str, allowance: float = 0.0, false_alarms: float = FALSE_ALARMS
    ) -> Iterator[Datum]:
        """The numbers at which :meth:`agrees` fails."""
        names = {line.metric for line in self.compared()}
        unknown = [name for name in metrics if name not in names]
        if unknown or not names:
            known = ", ".join(sorted(names)) or "nothing"
            raise GiantstepError(f"metric = {unknown}: measured and predicted are {known}")
        if len(self.seeds) < 2:
            raise GiantstepError("agrees needs standard errors: give at least two seeds")
        quantile = student_quantile(len(self.seeds), false_alarms)
        for line in self.compared():
            room = quantile * line.sem + line.error + allowance
            if line.metric in (metrics or names) and not abs(line.mean - line.theory) <= room:
                yield line

    # Its forms.

    @cached_property
    def _dataset(self) -> xarray.Dataset:
        from giantstep.answer.labelled import answer_dataset

        return answer_dataset(self)

    def to_xarray(self) -> xarray.Dataset:
        """All of it as one labelled array; see the table above."""
        return self._dataset

    def to_frame(self, *, seeds: bool = False) -> pandas.DataFrame:
        """A tidy table, one line per number: what was swept, sizes, metric, place, values.

        With ``seeds``, one line per number and seed, ``value``, instead of mean and error.
        """
        from giantstep.answer.labelled import answer_frame

        return answer_frame(self, seeds=seeds)

    def to_json(self) -> dict[str, Any]:
        """The object that ``--json`` prints; over a grid, lists in the place of numbers."""
        from giantstep.answer.written import answer_json

        return answer_json(self)

    def table(self, metric: GivenMetric = None, *, everything: bool = False) -> str:
        """The text that the command line prints."""
        from giantstep.answer.table import answer_text

        return answer_text(self, metric, everything=everything)

    def plot(
        self, x: str | None = None, metric: GivenMetric = None, ax: Axes | None = None
    ) -> Axes:
        """Draw it: theory as lines, simulation as dots with error bars.

        ``x`` is the axis to draw along: what was swept, ``step`` or ``direction``. ``metric`` is
        the metric to draw, the first one unless told; ``ax`` where to draw it. One more axis has a
        colour for each of its values; from six numbers on it is a map, contours of theory over both
        axes and simulations as dots of the same colours.
        """
        # Pictures are a room below this one: the front door knows the way.
        import giantstep

        return giantstep.draw(self, x=x, metric=metric, ax=ax)

    def __repr__(self) -> str:
        from giantstep.answer.table import short_answer

        return short_answer(self)

    def _repr_html_(self) -> str:
        from giantstep.answer.page import answer_page

        return answer_page(self)

"""What a figure of the gallery is: some questions, a plot, a caption, and what it claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from giantstep.answer import Answer
from giantstep.asking.questions import GivenProblem, asked_questions
from giantstep.asking.verbs import PREDICT, VERBS, ask
from giantstep.errors import GiantstepError
from giantstep.settings.options import Settings, Values

if TYPE_CHECKING:
    from matplotlib import figure
    from pandas import DataFrame as DataFrame

    Picture = figure.Figure
    Tables = Iterator[DataFrame | dict[str, Any]]
else:
    # Names for annotations: whoever lists the figures waits for neither library.
    DataFrame = Picture = Tables = Any

#: Words of a caption under a picture.
MOST_WORDS = 60
#: Reduced for tests; quick for a look, under 40 s on two cores; full for a paper.
Scale = Literal["reduced", "quick", "full"]
SCALES: tuple[Scale, ...] = ("reduced", "quick", "full")


class Along(NamedTuple):
    """What a curve is drawn along: a setting or the inputs, how it is written there for a number,
    the column that keeps the numbers, and from where to where it goes, by ``ratios`` if it says so.
    """

    setting: str
    write: Callable[[float], Any]
    column: str
    ends: tuple[float, float] = (0.0, 1.0)
    ratios: bool = False

    def places(self, given: int | Sequence[float]) -> list[float]:
        """So many numbers from end to end, or those that are given."""
        import numpy as np

        if not isinstance(given, int):
            return [float(place) for place in given]
        spaced = np.geomspace if self.ratios else np.linspace
        return [float(place) for place in spaced(*self.ends, given).round(4)]


@dataclass(frozen=True)
class Workbench:
    """Where a figure computes: a store that remembers every cell, and an engine."""

    store: Path
    engine: str = "inline"
    progress: Callable[[float], None] | None = None

    def answer(
        self,
        settings: Settings,
        problem: GivenProblem = None,
        *,
        verbs: Sequence[str] = VERBS,
        seeds: int = 1,
        **problem_fields: Any,
    ) -> Answer:
        """The answer to a grid, computed here, or where there is an engine through the store.

        A cell that failed stops the figure: a picture with holes would say something else.
        """
        grid = asked_questions(settings, problem, **problem_fields)
        how: dict[str, Any] = {"verbs": verbs, "seeds": seeds, "progress": self.progress}
        if self.engine == "inline":
            return ask(grid, **how)
        answer = ask(grid, store=self.store, engine=self.engine, **how)
        failed = [why for (_, seed), why in answer.failures.items() if seed is not None]
        if failed:
            reason = failed[0].strip().splitlines()[-1]
            raise GiantstepError(f"{len(failed)} cells of {answer.learner} failed: {reason}")
        return answer

    def table(
        self,
        metrics: Sequence[str],
        settings: Settings,
        problem: GivenProblem,
        *,
        root_mean_square: bool = False,
        **how: Any,
    ) -> DataFrame:
        """Metrics of the answer to a grid by :func:`figure_table`; see :meth:`answer`."""
        answer = self.answer(settings, problem, **how)
        return figure_table(answer, metrics, root_mean_square=root_mean_square)

    def curve(
        self,
        metrics: Sequence[str],
        settings: Settings,
        problem: GivenProblem,
        along: Along,
        sizes: Sizes,
        *,
        dots_alone: Mapping[str, Any] | None = None,
        root_mean_square: bool = False,
        verbs: Sequence[str] = VERBS,
        **how: Any,
    ) -> DataFrame:
        """Predictions at ``sizes.points``, then simulations beside predictions at ``sizes.dots``.

        Either is a number of places from end to end, or the places; without points there is no
        line. ``dots_alone`` are settings that the dots have and the line does not; ``verbs`` says
        what is asked at the dots. Several targets stand in the table as they were written here.
        """
        import pandas

        parts, how = [], {"seeds": sizes.seeds, **how}
        line, dots = (along.places(getattr(sizes, name, ())) for name in ("points", "dots"))
        for asking, values, own in (((PREDICT,), line, {}), (verbs, dots, dots_alone or {})):
            if len(values):
                chosen, swept = settings.replace(**own), [along.write(v) for v in values]
                if along.setting == "inputs":
                    answer = self.answer(chosen, problem, inputs=swept, verbs=asking, **how)
                else:
                    chosen = chosen.replace(**{along.setting: Values(swept)})
                    answer = self.answer(chosen, problem, verbs=asking, **how)
                part = figure_table(answer, metrics, root_mean_square=root_mean_square)
                given: list[Any] = [(along.setting, along.column, values)]
                if "target" in answer.axes:
                    given.append(("target", "target", problem))
                for setting, column, written in given:
                    labels = answer.axes[setting].labels
                    part[column] = part[setting].map(dict(zip(labels, written, strict=True)))
                parts.append(part)
        return pandas.concat(parts, ignore_index=True)

    def report(self, fraction: float) -> None:
        """Say how far a computation is that is no question to a learner."""
        if self.progress is not None:
            self.progress(fraction)


def figure_table(
    answer: Answer, metrics: Sequence[str], *, root_mean_square: bool = False
) -> DataFrame:
    """One line per place: what was swept, step, direction, ..., then METRIC, .sem and .theory.

    A metric without an axis that another one has stands on every line of it. Overlaps can be
    averaged over seeds as theory averages them, by the root of their mean square: the mean of the
    overlaps themselves lies below that wherever they scatter.
    """
    import xarray

    data, found = answer.to_xarray(), {}
    for name in metrics:
        if name in data:
            values = data[name] ** 2 if root_mean_square else data[name]
            mean = values.mean("seed")
            sem = values.std("seed", ddof=1) / values.notnull().sum("seed") ** 0.5
            found[name] = mean**0.5 if root_mean_square else mean
            found[f"{name}.sem"] = sem / (2 * found[name]) if root_mean_square else sem
        if f"{name}_theory" in data:
            found[f"{name}.theory"] = data[f"{name}_theory"]
    # A point has no dimension of its own: it is given one, and the table forgets it.
    labelled = xarray.Dataset(found).reset_coords(drop=True).expand_dims("point")
    table = labelled.to_dataframe().dropna(how="all").reset_index()
    return table.drop(columns="point")


def figure_columns(metric: str, runs: Any) -> dict[str, Any]:
    """The mean of runs, which stand along the first axis, and its standard error, as columns."""
    import numpy as np

    values = np.asarray(runs)
    sem = values.std(axis=0, ddof=1) / len(values) ** 0.5
    return {metric: values.mean(axis=0), f"{metric}.sem": sem}


class Sizes(SimpleNamespace):
    """The parameters of a figure at one scale, by their names: dimensions, points, seeds, ..."""


def figure_sizes(**parameters: tuple[Any, Any, Any]) -> dict[Scale, Sizes]:
    """The sizes of a figure by scale; each parameter is given as reduced, quick, full."""
    return {
        scale: Sizes(**{name: values[place] for name, values in parameters.items()})
        for place, scale in enumerate(SCALES)
    }


@dataclass(frozen=True)
class Figure:
    """One figure. ``sizes`` are its parameters at each scale; the caption names them in braces.

    ``rows`` computes the table behind the picture part by part, each a table or a line of it,
    ``draw`` draws it and nothing else, and ``claims`` says, sentence by sentence, whether the table
    shows what the caption says. A figure with ``frames`` moves: they are one picture, painted anew
    for each of them.
    """

    name: str
    title: str
    caption: str
    references: tuple[str, ...]
    sizes: Mapping[Scale, Sizes]
    rows: Callable[[Sizes, Workbench], Tables]
    draw: Callable[[DataFrame], Picture]
    claims: Callable[[DataFrame], Mapping[str, bool]]
    frames: Callable[[DataFrame], Iterator[Picture]] | None = None

    def table(self, scale: Scale, bench: Workbench) -> DataFrame:
        """All parts of the table below one another."""
        import pandas

        parts: list[DataFrame] = []
        for are_lines, run in groupby(self.rows(self.sizes[scale], bench), _is_line):
            here: Any = list(run)
            parts += [pandas.DataFrame(here)] if are_lines else here
        return pandas.concat(parts, ignore_index=True)

    def caption_at(self, scale: Scale) -> str:
        """The caption with the sizes of that scale."""
        return " ".join(self.caption.format(**vars(self.sizes[scale])).split())

    def sentences(self, scale: Scale) -> list[str]:
        """The sentences of the caption."""
        return re.split(r"(?<=\.) (?=[A-Z])", self.caption_at(scale))

    def parts_of_caption(self, scale: Scale) -> tuple[str, str]:
        """What stands under the picture, whole sentences of at most 60 words, and the rest."""
        sentences = self.sentences(scale)
        count = len(sentences)
        while count > 1 and len(" ".join(sentences[:count]).split()) > MOST_WORDS:
            count -= 1
        return " ".join(sentences[:count]), " ".join(sentences[count:])


def _is_line(part: DataFrame | dict[str, Any]) -> bool:
    return isinstance(part, dict)

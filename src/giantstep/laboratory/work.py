"""What a worker can be asked to do: the verbs of the house, on plain values, and nothing else."""

from __future__ import annotations

import contextlib
import functools
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from giantstep.asking.workers.backlog import DONE, FAILED, NO_THEORY, REFUSED, Outcome
from giantstep.errors import GiantstepError, NoTheory, SettingsError, error_in_one_line
from giantstep.laboratory.limits import LabLimits

Tell = Callable[[float], None]


def do_for_lab(task: tuple[str, Mapping[str, Any]], tell: Tell) -> Outcome:
    """The outcome of a verb with its arguments; whatever goes wrong is one of them."""
    verb, arguments = task
    try:
        return Outcome(DONE, VERBS[verb](tell=tell, **arguments))
    except NoTheory as reason:
        return Outcome(NO_THEORY, error=str(reason))
    except GiantstepError as error:
        return Outcome(REFUSED, error=str(error))
    except MemoryError:
        return Outcome(FAILED, error="out of memory: take a smaller dimension or fewer samples")
    except Exception as error:
        # A fault of ours must not end the worker: it is shown where the answer would be.
        return Outcome(FAILED, error=error_in_one_line(error))


def lab_read(*, target: str, tell: Tell) -> dict[str, Any]:
    """How a target is read: its canonical text and its formula."""
    from giantstep.language.targets import TreeTarget, any_target
    from giantstep.language.targets.reading import how_target_was_read
    from giantstep.reports.mathematics import mathml

    found = any_target(target)
    if isinstance(found, TreeTarget):
        return {"text": found.text, "tree": True, "mathml": "", "directions": 0, "reading": None}
    return {
        "text": found.text,
        "tree": False,
        "mathml": str(mathml(f"y = {found.latex}")),
        "directions": found.rank,
        "reading": how_target_was_read(target),
    }


def lab_outline(
    *,
    learner: str,
    settings: Mapping[str, Any],
    problem: Mapping[str, Any],
    seeds: int,
    between: int = 0,
    tell: Tell,
) -> dict[str, Any]:
    """The points of an experiment, where they stand on the axis, and how to do it elsewhere.

    ``between`` asks for so many points of a line in all, those of the range among them and first;
    ``coarse`` of them are a line already.
    """
    from giantstep.answer.axis import Axis
    from giantstep.asking.questions import read_questions
    from giantstep.asking.table import learner_to_ask
    from giantstep.laboratory.ranges import finer_lab_axis
    from giantstep.laboratory.take_away import lab_as_command, lab_in_python

    row = learner_to_ask(learner)
    asked = read_questions(row, settings, problem)
    elsewhere = {
        "command": lab_as_command(row, settings, problem, seeds),
        "python": lab_in_python(row, settings, problem, seeds),
    }
    # The longest range is the axis of the picture; each combination of the others is a curve. What
    # has no range stands at one place of an axis without a name.
    fine, axis = asked, max(asked.axes.values(), key=len, default=Axis("", (None,)))
    # Several curves, or the rows of a map, share what the lab draws.
    most = LabLimits().points * len(axis) // len(asked.questions)
    if min(between, most) > len(axis):
        given = finer_lab_axis(axis.name, settings, problem, between, len(axis), most)
        # Between whole numbers there is nothing.
        with contextlib.suppress(SettingsError):
            fine = read_questions(row, *given) if given else asked
    _check_lab_points(len(fine.questions))
    where, own = fine.axes.get(axis.name, axis), set(axis.labels)
    parts = max((len(where) - 1) // max(len(axis) - 1, 1), 1)
    places = [dict(place) for place in fine.answer().places()]
    along = [place.pop(axis.name, None) for place in places]

    def rank(i: int) -> int:
        """The dots' own points come first, then one between each two, then the others."""
        between_two = where.labels.index(along[i]) % parts == parts // 2
        return 0 if along[i] in own else 1 if between_two else 2

    order = sorted(range(len(along)), key=rank)
    return {
        "axis": axis.name or None,
        "label": where.title,
        "log": axis.is_logarithmic,
        "ticks": where.ticks if asked.axes else None,
        "values": [along[i] for i in order],
        "x": [where.of[along[i]] for i in order],
        "points": [_lab_plain_question(fine.questions[i]) for i in order],
        "places": [list(places[i].items()) for i in order],
        "own": [number for number, i in enumerate(order) if along[i] in own],
        "coarse": sum(rank(i) < 2 for i in order),
        **elsewhere,
    }


def lab_explain(*, problem: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """What ``explain`` says of a target, with the directions as formulas."""
    import giantstep
    from giantstep.laboratory.explained import lab_explained
    from giantstep.language.problem import read_problem
    from giantstep.language.targets import TreeTarget, any_target

    is_tree = isinstance(any_target(problem["target"]), TreeTarget)
    given: Any = read_problem(problem, has_tree=is_tree)
    return lab_explained(giantstep.explain(given.target, noise=given.noise, inputs=given.inputs))


def lab_predict(*, point: Mapping[str, Any], tell: Tell) -> Any:
    """The prediction of one point, if it fits."""
    import giantstep
    from giantstep.laboratory.laid_over import LabLaw

    question = _lab_question(point)
    _check_lab_cost(question, "predict")
    return LabLaw.of(giantstep.predict(question))


def lab_simulate(*, point: Mapping[str, Any], seed: int, tell: Tell) -> Any:
    """The run of one seed at one point, if it fits."""
    import giantstep

    question = _lab_question(point)
    _check_lab_cost(question, "simulate")
    return giantstep.simulate(question, seeds=1, seed=seed)


def lab_neurons(*, point: Mapping[str, Any], seed: int, tell: Tell) -> dict[str, Any]:
    """Where every neuron is after each step, as cosines with the target's directions."""
    from giantstep.laboratory.describe import WITH_NEURONS

    run = lab_simulate(point=point, seed=seed, tell=tell)
    if "cosines" not in run.arrays:
        raise SettingsError(
            f"{run.learner} has no neurons to show: take {' or '.join(WITH_NEURONS)}"
        )
    return {"cosines": run.arrays["cosines"][0], "settings": dict(run.run.settings)}


def lab_spectrum(*, point: Mapping[str, Any], of: Any, seeds: int, tell: Tell) -> dict[str, Any]:
    """A predicted spectrum, and so many simulated ones."""
    import giantstep

    grid = _lab_question(point)
    if seeds:
        _check_lab_cost(grid, "simulate")
    question = grid.questions[0]
    found = giantstep.spectrum(question.settings, question.problem, of=of, seeds=seeds)
    return {**found.to_json(), "simulated": [run.values for run in found.runs]}


def lab_report(*, problem: Mapping[str, Any], quick: bool, tell: Tell) -> str:
    """The page of ``giantstep report`` as text."""
    from giantstep.language.problem import read_problem
    from giantstep.reports.page import write_report
    from giantstep.reports.scale import FULL, QUICK

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        given: Any = read_problem(problem)
        write_report(given, page, scale=QUICK if quick else FULL, progress=tell)
        return page.read_text(encoding="utf-8")


def lab_warm(*, learner: str | None, tell: Tell) -> None:
    """Import what will be needed; compile the prediction of a learner's example."""
    import jax  # noqa: F401

    from giantstep.asking.table import learner_to_ask
    from giantstep.asking.verbs import predict as predict_it
    from giantstep.laboratory.describe import lab_example_question

    if learner is not None:
        predict_it(lab_example_question(learner_to_ask(learner)))


VERBS: dict[str, Callable[..., Any]] = {
    "read": lab_read,
    "outline": lab_outline,
    "explain": lab_explain,
    "predict": lab_predict,
    "simulate": lab_simulate,
    "neurons": lab_neurons,
    "spectrum": lab_spectrum,
    "report": lab_report,
    "warm": lab_warm,
}


def _lab_question(point: Mapping[str, Any]) -> Any:
    from giantstep.asking.questions import Grid
    from giantstep.asking.table import learner_to_ask

    row = learner_to_ask(point["learner"])
    settings: Any = row.load("settings")(**point["settings"])
    problem = _lab_problem(json.dumps(point["problem"]), row.has_target, row.has_tree)
    return Grid.of(row, settings, problem, {})


@functools.lru_cache(maxsize=16)
def _lab_problem(text: str, has_target: bool, has_tree: bool) -> Any:
    """The problem of a point, read once for all points of a line."""
    from giantstep.language.problem import read_problem

    return read_problem(json.loads(text), has_target=has_target, has_tree=has_tree)


def _lab_plain_question(question: Any) -> dict[str, Any]:
    settings = question.settings.to_json()
    dim = settings.get("dim")
    if dim is not None and dim > LabLimits().dim:
        raise SettingsError(f"dim = {dim:g} is too large for the lab: at most {LabLimits().dim:g}")
    problem = question.problem.to_json()
    return {"learner": question.settings.learner, "settings": settings, "problem": problem}


def _check_lab_points(count: int) -> None:
    if count > LabLimits().points:
        raise SettingsError(f"the range has {count} values: the lab draws {LabLimits().points}")


def _check_lab_cost(grid: Any, verb: str) -> None:
    """Refuse what would not fit, before anything is allocated."""
    from giantstep.numerics.cost import duration, readable

    limits = LabLimits()
    cost = grid.learner.cost_of(verb, grid.questions[0])
    if cost is None:
        return
    if cost.bytes > limits.memory_bytes:
        raise SettingsError(
            f"{cost.sizes} needs about {readable(cost.bytes)} of memory and the lab gives "
            f"{readable(limits.memory_bytes)}: {cost.remedy}"
        )
    most = limits.seed_seconds if verb == "simulate" else limits.seconds[verb]
    if cost.seconds(1) > most:
        raise SettingsError(
            f"{cost.sizes} would take about {duration(cost.seconds(1))} for each "
            f"{'seed' if verb == 'simulate' else 'point'} and the lab gives {duration(most)}: "
            f"{cost.remedy}"
        )

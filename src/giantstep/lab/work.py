"""What a worker can be asked to do: the verbs of the house, on plain values, and nothing else."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from giantstep.errors import GiantstepError, NoTheory, SettingsError, in_one_line
from giantstep.lab.jobs import Outcome, Task
from giantstep.lab.limits import Limits

Tell = Callable[[float], None]
#: Where the parser says that a text cannot be read.
_PLACE = re.compile(r"\(character (\d+)\)")


def do(task: Task, tell: Tell) -> Outcome:
    """The outcome of a task; whatever goes wrong is one of them."""
    try:
        return Outcome("done", VERBS[task.verb](tell=tell, **task.arguments))
    except NoTheory as reason:
        return Outcome("no-theory", str(reason))
    except GiantstepError as error:
        place = _PLACE.search(str(error))
        position = int(place[1]) - 1 if place else None
        return Outcome("refused", {"message": str(error), "position": position})
    except MemoryError:
        return Outcome("failed", "out of memory: take a smaller dimension or fewer samples")
    except Exception as error:
        # A fault of ours must not end the worker: it is shown where the answer would be.
        return Outcome("failed", in_one_line(error))


def read(*, target: str, tell: Tell) -> dict[str, Any]:
    """How a target is read: its canonical text and its formula."""
    from giantstep.report.mathematics import mathml
    from giantstep.targets import TreeTarget, any_target
    from giantstep.targets.reading import reading_of

    found = any_target(target)
    if isinstance(found, TreeTarget):
        return {"text": found.text, "tree": True, "mathml": "", "directions": 0, "reading": None}
    return {
        "text": found.text,
        "tree": False,
        "mathml": str(mathml(f"y = {found.latex}")),
        "directions": found.rank,
        "reading": reading_of(target),
    }


def plan(
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
    from giantstep.lab.ranges import finer
    from giantstep.lab.take_away import in_python, on_the_command_line
    from giantstep.sweep import Sweep
    from giantstep.twins.questions import read_question
    from giantstep.twins.table import twin

    row = twin(learner)
    asked = read_question(row, settings, problem)
    elsewhere = {
        "command": on_the_command_line(row, settings, problem, seeds),
        "python": in_python(row, settings, problem, seeds),
    }
    if not isinstance(asked, Sweep):
        points = [_plain_question(asked)]
        return {
            "axis": None,
            "label": "",
            "log": False,
            "values": [None],
            "x": [0.0],
            **elsewhere,
        } | {"ticks": None, "points": points, "own": [0], "coarse": 1}
    fine = asked
    if between > len(asked):
        given = finer(asked.axis, settings, problem, between, len(asked))
        # Between whole numbers there is nothing.
        with contextlib.suppress(SettingsError):
            fine = read_question(row, *given) if given else asked  # type: ignore[assignment]
    _check_points(len(fine))
    where, own = fine.positions, set(asked.values)
    parts = max((len(fine) - 1) // max(len(asked) - 1, 1), 1)

    def rank(i: int) -> int:
        """The dots' own points come first, then one between each two, then the others."""
        return 0 if fine.values[i] in own else 1 if i % parts == parts // 2 else 2

    order = sorted(range(len(fine)), key=rank)
    return {
        "axis": fine.axis,
        "label": where.label,
        "log": asked.positions.is_logarithmic,
        "ticks": where.ticks,
        "values": [fine.values[i] for i in order],
        "x": [where.of[fine.values[i]] for i in order],
        "points": [_plain_question(fine.points[i]) for i in order],
        "own": [number for number, i in enumerate(order) if fine.values[i] in own],
        "coarse": sum(rank(i) < 2 for i in order),
        **elsewhere,
    }


def explain(*, problem: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """What ``explain`` says of a target, with the directions as formulas."""
    import giantstep
    from giantstep.lab.explained import shown
    from giantstep.problem import read_problem
    from giantstep.targets import TreeTarget, any_target

    is_tree = isinstance(any_target(problem["target"]), TreeTarget)
    given: Any = read_problem(problem, has_tree=is_tree)
    return shown(giantstep.explain(given.target, noise=given.noise, inputs=given.inputs))


def predict(*, point: Mapping[str, Any], tell: Tell) -> Any:
    """The prediction of one point, with its numbers as the page takes them."""
    import giantstep
    from giantstep.lab.laid_over import Law

    return Law.of(giantstep.predict(_question(point)))


def simulate(*, point: Mapping[str, Any], seed: int, tell: Tell) -> Any:
    """The run of one seed at one point, if it fits."""
    import giantstep

    question = _question(point)
    _check_cost(question)
    return giantstep.simulate(question, seeds=1, seed=seed)


def neurons(*, point: Mapping[str, Any], seed: int, tell: Tell) -> dict[str, Any]:
    """Where every neuron is after each step, as cosines with the target's directions."""
    run = simulate(point=point, seed=seed, tell=tell)
    if "cosines" not in run.arrays:
        raise SettingsError(f"{run.learner} has no neurons to show: take giant-step or online-sgd")
    return {"cosines": run.arrays["cosines"][0], "settings": dict(run.settings)}


def spectrum(*, point: Mapping[str, Any], of: Any, seeds: int, tell: Tell) -> dict[str, Any]:
    """A predicted spectrum, and so many simulated ones."""
    import giantstep

    question = _question(point)
    if seeds:
        _check_cost(question)
    found = giantstep.spectrum(question.settings, question.problem, of=of, seeds=seeds)
    return {**found.to_json(), "simulated": [run.values for run in found.runs]}


def report(*, problem: Mapping[str, Any], quick: bool, tell: Tell) -> str:
    """The page of ``giantstep report`` as text."""
    from giantstep.problem import read_problem
    from giantstep.report.page import write_report
    from giantstep.report.scale import FULL, QUICK

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        given: Any = read_problem(problem)
        write_report(given, page, scale=QUICK if quick else FULL, progress=tell)
        return page.read_text(encoding="utf-8")


def warm(*, learner: str | None, tell: Tell) -> None:
    """Import what will be needed; compile the prediction of a learner's example."""
    import jax  # noqa: F401

    from giantstep.lab.describe import example_question
    from giantstep.twins.table import twin
    from giantstep.twins.verbs import predict as predict_it

    if learner is not None:
        predict_it(example_question(twin(learner)))


VERBS: dict[str, Callable[..., Any]] = {
    **{"read": read, "plan": plan, "explain": explain, "predict": predict, "simulate": simulate},
    **{"neurons": neurons, "spectrum": spectrum, "report": report, "warm": warm},
}


def _question(point: Mapping[str, Any]) -> Any:
    from giantstep.twins.questions import Question
    from giantstep.twins.table import twin

    row = twin(point["learner"])
    settings: Any = row.load("settings")(**point["settings"])
    return Question(settings, _problem(json.dumps(point["problem"]), row.has_target, row.has_tree))


@functools.lru_cache(maxsize=16)
def _problem(text: str, has_target: bool, has_tree: bool) -> Any:
    """The problem of a point, read once for all points of a line."""
    from giantstep.problem import read_problem

    return read_problem(json.loads(text), has_target=has_target, has_tree=has_tree)


def _plain_question(question: Any) -> dict[str, Any]:
    settings = question.settings.to_json()
    dim = settings.get("dim")
    if dim is not None and dim > Limits().dim:
        raise SettingsError(f"dim = {dim:g} is too large for the lab: at most {Limits().dim:g}")
    problem = question.problem.to_json()
    return {"learner": question.settings.learner, "settings": settings, "problem": problem}


def _check_points(count: int) -> None:
    if count > Limits().points:
        raise SettingsError(f"the range has {count} values: the lab draws {Limits().points}")


def _check_cost(question: Any) -> None:
    """Refuse what would not fit, before anything is allocated."""
    from giantstep.learners.cost import duration, readable

    if not question.row.cost:
        return
    cost, limits = question.row.load("cost")(question.problem, question.settings), Limits()
    if cost.bytes > limits.memory_bytes:
        raise SettingsError(
            f"{cost.sizes} needs about {readable(cost.bytes)} of memory and the lab gives "
            f"{readable(limits.memory_bytes)}: {cost.remedy}"
        )
    if cost.seconds(1) > limits.seed_seconds:
        raise SettingsError(
            f"{cost.sizes} would take about {duration(cost.seconds(1))} for each seed and the lab "
            f"gives {duration(limits.seed_seconds)}: {cost.remedy}"
        )

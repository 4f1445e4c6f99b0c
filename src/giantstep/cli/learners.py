"""`simulate`, `predict`, `compare` for every learner; options come from its settings class."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection
from typing import Annotated, Any

import typer

from giantstep.asking.table import LEARNERS, Learner
from giantstep.cli.options import NOISE, command_option, picture_command_options, settings_command
from giantstep.cli.output import (
    note,
    print_json,
    say,
    terminal_bar,
    use_compilation_cache,
    with_exit_codes,
)
from giantstep.cli.usage import command_example, command_group

#: A simulation that is expected to take longer is announced.
LONG_SECONDS = 30.0

VERBS = {
    "simulate": "Run the learner at finite size, once for each seed.",
    "predict": "Give the exact answer in high dimension, with its status.",
    "compare": "Lay the simulation over the prediction: a table, and with --out a picture.",
}


def register_learner_commands(app: typer.Typer, verbs: Collection[str] = tuple(VERBS)) -> None:
    """Add the three verbs, those in ``verbs`` with their learners."""
    for verb, summary in VERBS.items():
        group = command_group(summary)
        for row in LEARNERS if verb in verbs else ():
            epilog = command_example(f"giantstep {verb} {row.name} {row.example}")
            whole = f"{summary}\n\n{row.name}: {row.summary}."
            group.command(row.name, help=whole, short_help=row.summary, epilog=epilog)(
                _learner_command(verb, row)
            )
        app.add_typer(group, name=verb, short_help=summary)


@with_exit_codes
def list_learners_command(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the learners with their theory, metrics and papers."""
    if json:
        print_json({"learners": [dataclasses.asdict(row) for row in LEARNERS]})
        return
    for row in LEARNERS:
        metrics = ", ".join(metric.name for metric in row.metrics)
        say(row.name, f"  {row.summary}", f"  theory:  {row.theory}", f"  metrics: {metrics}")
        say(f"  papers:  {'; '.join(row.references)}", "")


def _learner_command(verb: str, row: Learner) -> Callable[..., None]:
    """A function whose signature is the learner's settings, for typer to read."""
    more = []
    if verb == "predict" and row.optimisable:
        named = [name.replace("_", "-") for name in row.optimisable]
        choice = " or ".join(dict.fromkeys([*named, ",".join(named)]))
        more.append(command_option("optimise", str, f"find the best {choice}", ""))
    if verb != "predict":
        more += [
            command_option("seeds", int, "number of independent runs", 8),
            command_option("seed", int, "seed of the first run", 0),
        ]
    more += [
        command_option("metric", str, "show this metric, or several: test_error,overlap", ""),
        command_option("all", bool, "show every metric after every step", False),
        *picture_command_options(
            "; a range such as 1d:8d:8 is a curve, a second one of six or more values makes a map"
        ),
    ]
    return settings_command(
        row.load("settings"),
        functools.partial(_print_answer, verb, row),
        more,
        problem=None if row.has_target else [NOISE],
        is_hidden=functools.partial(_is_option_ignored, verb),
    )


def _is_option_ignored(verb: str, field: dataclasses.Field[Any]) -> bool:
    """Whether a setting says nothing to a verb: it is taken, so that verbs can be exchanged."""
    only = field.metadata["only"]
    return only is not None and only != ("predict" if verb == "predict" else "simulate")


def _print_answer(verb: str, row: Learner, chosen: dict[str, Any], given: dict[str, Any]) -> None:
    from giantstep.asking.questions import read_questions
    from giantstep.language.problem import FIELDS

    metric, out = given["metric"] or None, given["out"]
    row.check_metrics(metric)
    problem = {name: given[name] for name in FIELDS if name in given}
    grid = read_questions(row, chosen, problem)
    use_compilation_cache()
    from giantstep.asking import verbs
    from giantstep.asking.one_point import question_seconds
    from giantstep.numerics.cost import duration

    optimise: list[str] = []
    if verb == "predict":
        optimise = verbs.names_to_optimise(given.get("optimise", ""))
        with terminal_bar(f"predict {row.name}") as progress:
            answer = verbs.predict(grid, optimise=optimise, progress=progress)
    else:
        expected = question_seconds(row, grid.questions, given["seeds"])
        if expected > LONG_SECONDS:
            note(f"this will take about {duration(expected)} on this machine")
        with terminal_bar(f"{verb} {row.name}") as progress:
            run = verbs.simulate if verb == "simulate" else verbs.compare
            answer = run(grid, seeds=given["seeds"], seed=given["seed"], progress=progress)
    optimum = optimise and not answer.axes
    if out is not None:
        how = {"with_caption": given["caption"], "size": given["size"]}
        with terminal_bar(f"draw {out.name}"):
            if optimum:
                from giantstep.gallery.optimum import draw_optimum

                draw_optimum(answer, optimise, out, **how)
            else:
                from giantstep.gallery.result import draw_picture

                draw_picture(answer, out, metric=metric, **how)
    if given["json"]:
        print_json(answer.to_json())
        return
    if optimum:
        from giantstep.asking.optimum import asked_optimum_words

        typer.echo(asked_optimum_words(answer.prediction, optimise) + "\n")
    typer.echo(answer.table(metric, everything=given["all"]))
    if out is not None:
        note(f"wrote {out}")

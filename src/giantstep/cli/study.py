"""`giantstep study`: run a grid of cells, look at it, export it, draw it."""

from __future__ import annotations

import importlib.util
import shlex
import warnings
from contextlib import suppress
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from giantstep.asking.studies import DEFAULT_STORE
from giantstep.cli.output import (
    INTERRUPTED,
    check_picture_option,
    note,
    print_json,
    terminal_bar,
    use_compilation_cache,
    with_exit_codes,
)
from giantstep.cli.usage import command_example, command_group
from giantstep.errors import GiantstepError
from giantstep.files import file_written_beside

if TYPE_CHECKING:
    from giantstep.asking.studies.kept import KeptStudy
    from giantstep.asking.studies.records import Survey
    from giantstep.asking.studies.store import Store
    from giantstep.asking.studies.study import Study

FAILED_CELLS = DAMAGED_CELLS = 1
FORMATS = ("csv", "parquet", "json")

StorePath = Annotated[Path, typer.Option(help="The SQLite file that keeps the cells.")]
Metric = Annotated[
    str | None,
    typer.Option(help="overlap: after the last step; overlap[2,0]: step 2, first direction."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
STORE = Path(DEFAULT_STORE)


def register_study_commands(app: typer.Typer) -> None:
    """Add the group of commands."""
    summary = "Ask the same question many times: a learner over a grid of settings and seeds."
    group = command_group(summary)
    for command, words in (
        (run_command, "run phase.toml --workers 4"),
        (show_command, "show phase"),
        (export_command, "export phase --to parquet"),
        (plot_command, "plot phase --x samples"),
        (check_command, "check --store old.sqlite"),
    ):
        epilog = command_example(f"giantstep study {words}")
        group.command(words.partition(" ")[0], epilog=epilog)(command)
    app.add_typer(group, name="study", short_help=summary)


@with_exit_codes
def run_command(
    study: Annotated[str, typer.Argument(help="A TOML file, or a study the store knows.")],
    engine: Annotated[str, typer.Option(help="Where to compute: local, dask or inline.")] = "local",
    workers: Annotated[
        int | None, typer.Option(help="Worker processes; one for each core unless told.")
    ] = None,
    threads: Annotated[int, typer.Option(help="BLAS and XLA threads of each worker.")] = 1,
    scheduler: Annotated[
        str | None, typer.Option(help="A Dask scheduler that runs, such as tcp://host:8786.")
    ] = None,
    store: StorePath = STORE,
    retry: Annotated[bool, typer.Option("--retry", help="Compute failed cells again.")] = False,
    cell_seconds: Annotated[
        float | None,
        typer.Option(help="End a cell that takes longer, and count it as failed."),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Import and run a learner that is not giantstep's.")
    ] = False,
    json: Json = False,
) -> None:
    """Compute the cells that the store does not have yet.

    A study file names a learner, a problem, settings that are fixed and axes that vary:

    \b
      learner = "giant-step"
      seeds = 50
      problem = {target = "h1 + He3(h1)*h2", noise = 0.1}
      settings = {dim = 1000, steps = 2}
      axes = {samples = "1d:8d:15", step_size = ["1", "d^0.5"]}

    Ctrl-C finishes what is running; the same command goes on from there. The same command may
    run several times at once, on one store: they share the cells.
    """
    chosen = _study_of_command(study, store, trust)
    use_compilation_cache()
    from giantstep.asking.studies.progress import study_progress_bar
    from giantstep.asking.studies.run import StudyWarning

    try:
        with study_progress_bar(chosen.name) as watch, warnings.catch_warnings():
            # What it warns of is said below, with all that is in the store.
            warnings.simplefilter("ignore", StudyWarning)
            chosen.run(
                store=store,
                engine=engine,
                workers=workers,
                threads=threads,
                scheduler=scheduler,
                retry=retry,
                cell_seconds=cell_seconds,
                watch=watch,
            )
    except KeyboardInterrupt:
        with suppress(GiantstepError):
            note(f"stopped: {chosen.name}: {_printed_state(_kept(chosen.name, store).survey())}")
        note(f"go on with: {_command(study, store, engine, scheduler, trust, cell_seconds)}")
        raise typer.Exit(INTERRUPTED) from None
    survey = _kept(chosen.name, store).survey()
    counts = survey.counts
    if json:
        print_json({"study": chosen.name, "store": str(store), "counts": counts._asdict()})
    else:
        note(f"{chosen.name}: {_printed_state(survey)}, kept in {store}")
    _print_mixture_note(chosen.name, survey)
    if counts.failed:
        note("see why: " + shlex.join(["giantstep", "study", "show", chosen.name, *_at(store)]))
        note(f"try again: {_command(study, store, engine, scheduler, trust, cell_seconds)} --retry")
        raise typer.Exit(FAILED_CELLS)


@with_exit_codes
def show_command(
    study: Annotated[
        str | None, typer.Argument(help="A study, its TOML file, or a store; none: list them all.")
    ] = None,
    metric: Metric = None,
    store: StorePath = STORE,
    json: Json = False,
) -> None:
    """Show the studies of a store, or one study: how far it is, its means, its errors."""
    if study is None:
        _print_study_list(store, json)
        return
    kept = _kept(study, store)
    survey, answer = kept.survey(), kept.answer()
    if json:
        found = {"study": kept.definition(), "counts": survey.counts._asdict(), **answer.to_json()}
        print_json(found)
        return
    from giantstep.asking.studies.kept import study_failures

    typer.echo(f"{kept.name}: {_printed_state(survey)}")
    _print_mixture_note(kept.name, survey)
    typer.echo(answer.table(metric))
    for why, count in study_failures(answer).items():
        typer.echo(f"{count} cells: {why}")


@with_exit_codes
def export_command(
    study: Annotated[str, typer.Argument(help="A study, its TOML file, or a store of one.")],
    to: Annotated[str, typer.Option(help="The format: csv, parquet or json.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="The file; STUDY.FORMAT unless told.")] = None,
    store: StorePath = STORE,
    json: Json = False,
) -> None:
    """Write a study to a file: one line per number and seed, or with `json` all as one object."""
    if to not in FORMATS:
        raise GiantstepError(f"--to = {to!r} is unknown: use {', '.join(FORMATS)}")
    if to == "parquet" and importlib.util.find_spec("pyarrow") is None:
        raise GiantstepError(
            "parquet needs pyarrow: pip install '.[studies]' in giantstep's folder"
        )
    kept = _kept(study, store)
    answer, path = kept.answer(), out or Path(f"{kept.name}.{to}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with file_written_beside(path) as beside:
            if to == "json":
                beside.write_text(dumps(answer.to_json()), encoding="utf-8")
            elif to == "parquet":
                answer.to_frame(seeds=True).to_parquet(beside, index=False)
            else:
                answer.to_frame(seeds=True).to_csv(beside, index=False)
    except OSError as error:
        raise GiantstepError(f"cannot write {str(path)!r}: {error.strerror}") from None
    cells = kept.survey().counts.cells
    if json:
        print_json({"study": kept.name, "file": str(path), "cells": cells})
    else:
        note(f"wrote {cells} cells to {path}")


@with_exit_codes
def plot_command(
    study: Annotated[str, typer.Argument(help="A study, its TOML file, or a store of one.")],
    x: Annotated[str | None, typer.Option(help="The axis to draw along.")] = None,
    metric: Metric = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The picture; STUDY.png unless told.", callback=check_picture_option),
    ] = None,
    store: StorePath = STORE,
    json: Json = False,
) -> None:
    """Draw a metric along an axis: simulation as dots with error bars, theory as lines."""
    from giantstep.gallery.result import draw_picture

    kept = _kept(study, store)
    with terminal_bar(f"draw {kept.name}"):
        path = draw_picture(kept.answer(), out or Path(f"{kept.name}.png"), x=x, metric=metric)
    if json:
        print_json({"study": kept.name, "file": str(path)})
    else:
        note(f"wrote {path}")


@with_exit_codes
def check_command(store: StorePath = STORE, json: Json = False) -> None:
    """Check every row of a store, and say which are damaged."""
    from giantstep.asking.studies.store import Store

    if not store.is_file():
        raise GiantstepError(f"there is no store {str(store)!r}: give --store")
    with Store(store) as opened:
        surveys, faults = _surveys_to_print(opened)
    _show_surveys(surveys, faults, json)
    if faults or any(survey.damaged for survey in surveys.values()):
        raise typer.Exit(DAMAGED_CELLS)


def _study_of_command(given: str, store: Path, trust: bool) -> Study:
    """The study in that file, or of that name in the store."""
    from giantstep.asking.studies.study import Study

    if given.endswith(".toml") or Path(given).is_file():
        return Study.read(given, trust=trust)
    if not store.is_file():
        raise GiantstepError(
            f"study = {given!r} is no file, and there is no store {str(store)!r}: "
            f"give a TOML file, or --store"
        )
    return _kept(given, store).study(trust=trust)


def _kept(given: str, store: Path) -> KeptStudy:
    """A study in a store: by its name, its TOML file, or the store that has it alone."""
    from giantstep.asking.studies.kept import KeptStudy
    from giantstep.asking.studies.store import Store
    from giantstep.asking.studies.study import Study

    if given.endswith(".toml"):
        return KeptStudy(store, Study.name_in(given))
    if given.endswith((".sqlite", ".db")) and Path(given).is_file():
        with Store(Path(given), read_only=True) as opened:
            names = [name for name, known in opened.studies().items() if known is not None]
        if len(names) != 1:
            known = ", ".join(names) or "none"
            raise GiantstepError(
                f"the store {given!r} has {len(names)} studies: name one of {known}, and give the "
                f"store as --store {given}"
            )
        return KeptStudy(Path(given), names[0])
    return KeptStudy(store, given)


def _printed_state(survey: Survey) -> str:
    counts = survey.counts
    ended = counts.done + counts.no_theory
    parts = [f"{ended} of {counts.cells} cells done"]
    if counts.no_theory:
        parts.append(f"{counts.no_theory} of them without a theory")
    if counts.failed:
        parts.append(f"{counts.failed} failed")
    if survey.damaged:
        parts.append(f"{len(survey.damaged)} damaged in the store, which the next run mends")
    if counts.left > len(survey.damaged):
        parts.append(f"{counts.left - len(survey.damaged)} left")
    return ", ".join(parts)


def _print_mixture_note(name: str, survey: Survey) -> None:
    from giantstep.asking.studies.versions import mixed_versions_note

    mixed = mixed_versions_note(survey.versions)
    if mixed is not None:
        note(f"{name}: {mixed}")


def _at(store: Path) -> list[str]:
    return [] if store == STORE else ["--store", str(store)]


def _command(
    given: str,
    store: Path,
    engine: str,
    scheduler: str | None,
    trust: bool,
    cell_seconds: float | None,
) -> str:
    """The command that goes on with a study."""
    where = [] if engine == "local" else ["--engine", engine]
    where += [] if scheduler is None else ["--scheduler", scheduler]
    where += [] if cell_seconds is None else ["--cell-seconds", f"{cell_seconds:g}"]
    where += ["--trust"] if trust else []
    return shlex.join(["giantstep", "study", "run", given, *where, *_at(store)])


def _print_study_list(store: Path, json: bool) -> None:
    from giantstep.asking.studies.store import Store

    with Store(store, read_only=True) as opened:
        surveys, faults = _surveys_to_print(opened)
    _show_surveys(surveys, faults, json)


def _surveys_to_print(opened: Store) -> tuple[dict[str, Survey], dict[str, str]]:
    """What the store has of each study; and for those that cannot be read, why."""
    from giantstep.asking.studies.database import StoreError

    surveys: dict[str, Survey] = {}
    known, damaged = opened.studies(), "its definition is damaged: run its file again"
    faults = {name: damaged for name in known if known[name] is None}
    for name in [name for name in known if name not in faults]:
        try:
            surveys[name] = opened.survey(name)
        except StoreError as error:
            faults[name] = str(error)
    return surveys, faults


def _show_surveys(surveys: dict[str, Survey], faults: dict[str, str], json: bool) -> None:
    if json:
        studies = [
            {"name": name, "counts": survey.counts._asdict(), "damaged": len(survey.damaged)}
            for name, survey in surveys.items()
        ]
        print_json({"studies": studies, "unreadable": faults})
        return
    for name, survey in surveys.items():
        typer.echo(f"{name}: {_printed_state(survey)}")
    for name, fault in faults.items():
        typer.echo(f"{name}: {fault}")

"""`giantstep fit` and `giantstep apply`: a person's own table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from giantstep.cli.output import note, print_json, terminal_bar, with_exit_codes
from giantstep.files import PAGES, check_file_place


@with_exit_codes
def fit_command(
    data: Annotated[Path, typer.Argument(help="A table: CSV, Parquet or Arrow.")],
    label: Annotated[str, typer.Option(help="The column to predict.")],
    task: Annotated[
        str, typer.Option(help="regression or classification; by default told by the label.")
    ] = "auto",
    out: Annotated[Path | None, typer.Option(help="Write a page with pictures here.")] = None,
    model: Annotated[Path | None, typer.Option(help="Keep the fitted model here.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and random features.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Fit a table: how well, along which directions, and what more rows would buy.

    Scores are those on rows held out, beside ridge, kernel ridge and boosted trees. Nothing is
    fitted to the rows that score it.
    """
    from giantstep.errors import SettingsError
    from giantstep.estimators.fitting import fit_table, save_fitted_model
    from giantstep.estimators.tables import prepare_table_to_fit, read_table_to_fit

    if task not in ("auto", "regression", "classification"):
        raise SettingsError(f"task = {task!r}: use auto, regression or classification")
    if out is not None:
        check_file_place(out, endings=PAGES)
    if model is not None:
        check_file_place(model, "model")
    chosen: Any = None if task == "auto" else task
    prepared = prepare_table_to_fit(read_table_to_fit(data), label, chosen)
    with terminal_bar("fit") as progress:
        fitted = fit_table(prepared, seed=seed, progress=progress)
    if model is not None:
        save_fitted_model(fitted, model)
    if out is not None:
        from giantstep.estimators.page import write_fit_page

        write_fit_page(fitted, prepared, data.name, label, out, seed=seed)
    for line in fitted.notes:
        note(line)
    if json:
        print_json(fitted.to_json())
        return
    typer.echo(fitted.report(data.name, label, len(prepared.labels)))
    for place in (model, out):
        if place is not None:
            typer.echo(f"wrote {place}")


@with_exit_codes
def apply_command(
    model: Annotated[Path, typer.Argument(help="A model that `giantstep fit --model` kept.")],
    data: Annotated[Path, typer.Argument(help="Rows to predict: CSV, Parquet or Arrow.")],
    out: Annotated[
        Path | None, typer.Option(help="Write rows and predictions to this CSV file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Predict new rows with a fitted model.

    With --out or --json there are 90 % intervals too, or the probability of the class. Nothing
    in a model file is run as code.
    """
    from giantstep.estimators.fitting import apply_fitted_model
    from giantstep.estimators.tables import plain_column_name, read_table_to_fit, save_fitted_table

    if out is not None:
        check_file_place(out)
    frame = read_table_to_fit(data)
    with terminal_bar("apply"):
        predictions = apply_fitted_model(model, frame)
    if out is not None:
        columns = {str(name): column.to_numpy() for name, column in predictions.items()}
        save_fitted_table(frame.assign(**columns), out)
    if json:
        print_json({name: column.tolist() for name, column in predictions.items()})
    elif out is not None:
        typer.echo(f"wrote {out}")
    else:
        for value in predictions["prediction"]:
            typer.echo(f"{value:.6g}" if isinstance(value, float) else plain_column_name(value))

"""The command `giantstep` and its sub-commands."""

from __future__ import annotations

import typer

from giantstep.cli import catalogue, demo, explain, figure, fit, learners, report, spectrum, study

app = typer.Typer(
    name="giantstep",
    help="How does a neural network learn the few directions that matter in high-dimensional data?"
    "\n\nGive a target such as 'h1 + He3(h1)*h2'. `explain` says what can be learned of it, by "
    "which algorithm, from how many samples; `simulate` runs the learning at finite size, "
    "`predict` gives the exact answer in high dimension, `compare` lays one over the other.",
    epilog="Try: giantstep explain 'h1 + He3(h1)*h2'",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

explain.register(app)
learners.register(app)
spectrum.register(app)
study.register(app)
figure.register(app)
report.register(app)
fit.register(app)
catalogue.register(app)
demo.register(app)


def main() -> None:
    """Entry point of the command line."""
    app(prog_name="giantstep")

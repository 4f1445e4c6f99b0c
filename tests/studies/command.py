"""The command `giantstep` with the cheap learner in its table, for tests that kill it."""

from __future__ import annotations

import typer
from cheap_learners import SUMS

from giantstep.asking import table
from giantstep.cli import study

if __name__ == "__main__":
    table.LEARNERS += (SUMS,)
    app = typer.Typer()
    study.register_study_commands(app)
    app(prog_name="giantstep")

"""The command `giantstep` with the cheap learner in its table, for tests that kill it."""

from __future__ import annotations

import typer
from cheap_learners import SUMS

from giantstep.cli import study
from giantstep.twins import table

if __name__ == "__main__":
    table.TWINS += (SUMS,)
    app = typer.Typer()
    study.register(app)
    app(prog_name="giantstep")

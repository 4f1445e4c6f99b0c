"""
A phase diagram, on one machine or on a cluster
===============================================

The same question over a grid and many seeds. Every cell is kept in a store: interrupt it, and it
goes on where it stopped.
"""

import tempfile
from pathlib import Path

import giantstep as gs

# %%
# Samples and step size against one another, two seeds to keep this page quick.
study = gs.Study(
    name="overlap",
    learner="giant-step",
    problem="sin(h1)",
    settings={"dim": 200},
    axes={"samples": "1d:8d:8", "step_size": "0.25:4:6log"},
    seeds=2,
)
store = Path(tempfile.mkdtemp()) / "studies.sqlite"
results = study.run(store=store, engine="inline")
results.to_frame()[["samples", "step_size", "metric", "mean", "sem", "theory"]].head()

# %%
# From six values of the second setting on, this is a map: colours are theory, dots simulation.
axes = results.plot(metric="overlap")

# %%
# ``engine="local"`` starts one process per core, ``engine="dask"`` uses a Dask cluster; the
# numbers are the same. On the command line the same study is a TOML file: see :doc:`/studies`.

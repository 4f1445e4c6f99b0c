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
# Samples and dimension against one another, two seeds to keep this page quick.
study = gs.Study(
    name="overlap",
    learner="giant-step",
    problem="h1 + h1*h2",
    settings={"steps": 2, "step_size": 2},
    axes={"dim": [100, 400], "samples": ["1d", "2d", "4d", "8d"]},
    seeds=2,
)
store = Path(tempfile.mkdtemp()) / "studies.sqlite"
results = study.run(store=store, engine="inline")
results.summary().head(12)

# %%
# ``engine="local"`` starts one process per core, ``engine="dask"`` uses a Dask cluster; the
# numbers are the same. On the command line the same study is a TOML file: see :doc:`/studies`.

"""
One giant step, exactly
=======================

A network takes one gradient step on its first layer, large enough to move every neuron by as much
as its own length, then fits its readout. Its error is known exactly.
"""

import giantstep as gs

# %%
# Random features first
# ---------------------
# With a first layer that stays random, only the linear part of ``sin(h1)`` is learned.
settings = gs.RandomFeatures(
    samples="2d",
    width="1d",
    activation="tanh",
    ridge="1e-3:10:25log",
)
random = gs.predict(settings, "sin(h1)")
random.plot(metric="test_error")

# %%
# One step, over the step size
# ----------------------------
# The same network after one step. The line is theory; the dots are networks in 150 dimensions.
settings = gs.GiantStep(
    dim=150,
    samples="8d",
    step_size="0.5,1,2,3,4",
    width="1d",
    activation="tanh",
    readout="ones",
    readout_samples="2d",
    ridge=0.1,
)
both = gs.compare(settings, "sin(h1)", seeds=6)
both.plot(metric="test_error")

# %%
# Both are tables too: ``mean`` and ``sem`` are simulated, ``theory`` is predicted, and ``status``
# says how well it is founded.
frame = both.to_frame()
frame[frame.metric == "test_error"]

# %%
# What the step did to the weights
# --------------------------------
# Its mark is one singular value outside of the bulk.
settings = gs.GiantStep(
    dim=300, samples="8d", width="1d", step_size=3, activation="tanh", readout="ones"
)
gs.spectrum(settings, "sin(h1)", of="weights", seeds=2).plot()

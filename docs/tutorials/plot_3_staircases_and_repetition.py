"""
Staircases and repetition
=========================

Each giant step on fresh samples climbs one stair. Using a batch twice changes what can be climbed.
"""

import matplotlib.pyplot as plt

import giantstep as gs

# %%
# One stair per step
# ------------------
settings = gs.GiantStep(dim=1000, samples="8d", steps=3, step_size=2)
both = gs.compare(settings, "h1 + h1*h2", seeds=8)
both.plot(x="step", metric="overlap")

# %%
# A target that one pass does not see
# -----------------------------------
# ``He3(h1)`` has no linear and no quadratic part. On fresh batches nothing happens; on one batch
# that is used twice the label enters the activation's derivative, and the neuron moves.
figure, axes = plt.subplots()
for batches in ("fresh", "reused"):
    settings = gs.GiantStep(
        dim=2000,
        samples="3d",
        steps=4,
        step_size=1,
        batches=batches,
        width=1,
        activation="tanh",
        readout="ones",
    )
    run = gs.simulate(settings, "He3(h1)", seeds=6)
    axes.plot(abs(run.mean("overlap"))[:, 0], "o-", label=f"{batches} batches")
axes.set(xlabel="step", ylabel="overlap with h1")
axes.legend()

# %%
# Which activation, and which sign?
# ---------------------------------
# How a neuron that looks ahead begins to move: a force, or a rate of growth.
for activation, lookahead in (("tanh", -0.3), ("tanh", 0.3), ("relu", 0.3)):
    law = gs.predict(
        gs.Repetition(activation=activation, lookahead=lookahead, readout=1.0), "He4(h1)"
    )
    print(activation, lookahead, f"growth {float(law.metrics['growth']):+.3f}")

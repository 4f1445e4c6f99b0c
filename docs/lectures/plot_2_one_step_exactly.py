"""
One step exactly
================

**For a class of two hours.** Students should know ridge regression and eigenvalues of random
matrices. The question: what is one giant step on the first layer worth, in test error?

1. Without it
-------------
On random features only the linear part of the target is learned at n, p of order d. The rest acts
as noise, and the error peaks where n = p.
"""

import matplotlib.pyplot as plt

import giantstep as gs

# %%
# **Question.** Where is the peak, and what does the ridge do to it?
figure, axes = plt.subplots()
for ridge in (1e-4, 1e-2, 1.0):
    curve = gs.predict(
        gs.RandomFeatures(samples="0.2d:4d:60", width="1d", activation="tanh", ridge=ridge),
        "sin(h1)",
        noise=0.1,
    )
    ratios = [0.2 + 3.8 * i / 59 for i in range(60)]
    axes.semilogy(ratios, [law.metrics["test_error"] for law in curve], label=f"ridge {ridge:g}")
axes.set(xlabel="n/d", ylabel="test error")
axes.legend()

# %%
# 2. What the step does to the weights
# ------------------------------------
# It adds one direction, the same for all neurons: an outlier of the spectrum, with a cosine with
# the target that theory knows.
settings = gs.GiantStep(
    dim=300, samples="4d", width="1d", step_size=3, activation="tanh", readout="ones"
)
gs.spectrum(settings, "sin(h1)", of="weights", seeds=2).plot()

# %%
# 3. What it does to the error
# ----------------------------
# Given the component of the input along that direction, features are again linear plus noise, with
# coefficients that depend on it. Any function of the component in their span can now be fitted.
settings = gs.GiantStep(
    dim=150,
    samples="8d",
    step_size="0.5,1,2,4",
    width="1d",
    activation="tanh",
    readout="ones",
    readout_samples="2d",
    ridge=0.1,
)
both = gs.compare(settings, "sin(h1)", seeds=6)
both.plot(metric="test_error")

# %%
# The energy of ``sin(h1)`` beyond degree one is .0645: no linear method gets below it.
# **Question.** From which step size on is the network below?
frame = both.to_frame()
print(frame[frame.metric == "test_error"][["step_size", "mean", "sem", "theory"]].to_string())

# %%
# Exercises
# ---------
# 1. Repeat part 3 for ``sign(h1)`` and for ``He2(h1)``. For which of them does one step help, and
#    why?
# 2. ``gs.predict(..., optimise=["step_size", "ridge"])`` finds the best step and ridge. How do they
#    change with the number of samples of the step?
# 3. In part 3 raise ``dim``: which deviations from theory shrink, and at what rate?

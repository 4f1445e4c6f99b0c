"""
Staircases
==========

**For a class of two hours.** Students should know Gaussian integrals and gradient descent. The
question: a network sees n samples in d dimensions of a function that depends on a few directions
only. Which directions does it find, and in which order?

1. Hermite polynomials and the first step
-----------------------------------------
Expand the target in Hermite polynomials of :math:`h = W^* x`. One gradient step from a random start
moves every neuron along :math:`E[y\\,x]` at leading order: it sees the part of degree one and
nothing else. That part is the vector :math:`E[\\nabla g]`.
"""

import matplotlib.pyplot as plt
import numpy as np

import giantstep as gs

# %%
# **Question.** Which direction does the first step find for ``h1 + He2(h1) + h2 - He2(h2)``?
print(gs.explain("h1 + He2(h1) + h2 - He2(h2)").report().split("Samples")[0])

# %%
# 2. Watch it
# -----------
# Two directions, their sum and their difference. The sum is found in the first step. It makes the
# second degree visible: given h1 + h2, the target is linear in h1 - h2.
run = gs.simulate(gs.GiantStep(dim=1000, samples="8d", steps=3, step_size=2), "ex1", seeds=8)
law = gs.predict(gs.GiantStep(samples="8d", steps=3, step_size=2), "ex1")
figure, axes = plt.subplots()
for direction in range(2):
    axes.plot(law.metrics["overlap"][:, direction], label=f"h{direction + 1}, theory")
    axes.errorbar(
        range(4), run.mean("overlap")[:, direction], run.sem("overlap")[:, direction], fmt="o"
    )
axes.set(xlabel="step", ylabel="overlap")
axes.legend()

# %%
# **Question.** Both overlaps are equal after the first step. Why?

# %%
# 3. Change one sign
# ------------------
# With equal links the difference never becomes linear: the stair has height two. Neurons that know
# the sum alone have a cosine of at most :math:`1/\sqrt 2 = 0.71` with each of the two axes.
for target in ("ex1", "ex2"):
    run = gs.simulate(gs.GiantStep(dim=1000, samples="8d", steps=3, step_size=2), target, seeds=8)
    print(target, np.round(run.mean("overlap")[-1], 2))

# %%
# 4. What a leap costs
# --------------------
# A direction of leap l needs about d^l samples in one giant step. Below that nothing is learned, at
# any step size.
figure, axes = plt.subplots()
exponents = np.linspace(0.5, 1.5, 6)
for dim in (128, 512):
    samples = [int(dim**exponent) for exponent in exponents]
    overlaps = [
        gs.simulate(gs.GiantStep(dim=dim, samples=n, step_size=4), "h1", seeds=8).mean("overlap")
        for n in samples
    ]
    axes.plot(exponents, [each[-1, 0] for each in overlaps], "o-", label=f"d = {dim}")
axes.set(xlabel="log n / log d", ylabel="overlap after one step")
axes.legend()

# %%
# **Question.** At which exponent do the curves cross, and what would the picture for ``He2(h1)``
# be?

# %%
# Exercises
# ---------
# 1. Find a target with three stairs of leap 1. Check it with ``gs.explain``.
# 2. ``h1 + He2(h1)*h2`` has two stairs of leap 1, and relu without biases climbs only one of
#    them. Why? Try ``biases="normal"``.
# 3. Use the batch twice (``batches="reused"``) on ``He3(h1)`` with tanh. What changes, and why?

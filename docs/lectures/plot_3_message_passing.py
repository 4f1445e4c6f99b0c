"""
Message passing and the computational gap
=========================================

**For a class of two hours.** Students should know Bayes' rule and the central limit theorem. The
question: how well can the directions be estimated from n = αd samples, by any algorithm and by a
fast one?

1. Three kinds of targets
-------------------------
Ask what a label says about the direction: of its mean (trivial), of its variance (easy), or only of
higher moments (hard).
"""

import matplotlib.pyplot as plt
import numpy as np

import giantstep as gs

# %%
# **Question.** Sort them before you look: ``sign(h1)``, ``abs(h1)``, ``sign(h1*h2*h3)``.
for target in ("sign(h1)", "abs(h1)", "sign(h1*h2*h3)"):
    print(target, "is", gs.explain(target).to_json()["class"])

# %%
# 2. State evolution
# ------------------
# Message passing in d dimensions is followed by one number, its squared cosine M with the truth.
figure, axes = plt.subplots()
ratios = np.linspace(0.1, 2, 39)
for target in ("sign(h1)", "abs(h1)"):
    curve = gs.predict(gs.Amp(samples="0.1d:2d:39"), target)
    axes.plot(ratios, [np.ravel(law.metrics["overlap_squared"])[0] for law in curve], label=target)
axes.set(xlabel="n/d", ylabel="squared cosine")
axes.legend()

# %%
# **Question.** One curve starts at once, the other at n = d/2, and the second one jumps. What
# does each of these say about algorithms?

# %%
# 3. Does a run follow it?
# ------------------------
both = gs.compare(gs.Amp(dim=500, samples="0.5d,1d,2d,4d"), "sign(h1)", seeds=8)
both.plot(metric="overlap_squared")

# %%
# 4. The gap
# ----------
# With unlimited time the noiseless ``abs(h1)`` is solved from d labels; message passing needs more.
law = gs.predict(gs.Amp(samples="1.05d", phases=True), "abs(h1)")
print(law.table())

# %%
# Exercises
# ---------
# 1. Compute the threshold of ``abs(h1)`` by hand from :math:`\\alpha_c^{-1} = E[(E[h^2|y]-1)^2]`.
# 2. Add noise (``noise=0.5``). What happens to the jump?
# 3. ``He2(h1) + sign(h1*h2*h3)`` contains the hard parity. Why can it be learned all the same?

"""
The best any algorithm can do
=============================

Message passing knows the form of the target and uses every sample as well as Bayes' rule allows. No
fast algorithm is known to do better.
"""

import giantstep as gs

# %%
# Phase retrieval: below n = d/2 nothing can be learned of ``abs(h1)``, above it message passing
# learns something, and beyond 1.128 d everything.
curve = gs.predict(gs.Amp(samples="0.2d:2d:40"), "abs(h1)")
curve.plot(metric="overlap_squared")

# %%
# Where does it change, and what could be done with unlimited time?
print(gs.explain("abs(h1)").report())

# %%
# A run at d = 500, against its law.
both = gs.compare(gs.Amp(dim=500, samples="0.5d,2d,4d"), "sign(h1)", seeds=6)
both.plot(metric="overlap_squared")

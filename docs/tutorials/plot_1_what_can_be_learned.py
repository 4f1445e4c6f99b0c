"""
What can be learned
===================

Which directions of a target does a network find, in which order, and from how many samples? The
target alone decides, and :func:`giantstep.explain` reads it.
"""

import giantstep as gs

# %%
# A staircase
# -----------
# The linear part ``h1`` is seen at once. Once ``h1`` is known, the product ``h1*h2`` is linear in
# ``h2``, so that ``h2`` comes next.
staircase = gs.explain("h1 + h1*h2")
print(staircase.report())

# %%
# The same as a picture.
staircase.plot()

# %%
# The same function, harder
# -------------------------
# Without the linear part both directions have to be found at once: a leap of two.
print(gs.explain("h1*h2").report())

# %%
# Out of reach
# ------------
# The sign of a product of three gives nothing away at n of order d: no efficient algorithm is
# known.
print(gs.explain("sign(h1*h2*h3)").report())

# %%
# As a table
# ----------
# Everything above is data too.
gs.explain("h1 + He3(h1)*h2").to_frame()

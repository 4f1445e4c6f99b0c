"""
Depth
=====

A tree-shaped target is a function of few numbers, each of which is a function of many directions.
What can each layer find?
"""

import giantstep as gs

# %%
# Eight leaves of second degree under one branch, in 64 dimensions.
tree = "tree(tanh(2.449*u), He2(z)/sqrt(2), branches=1, leaves=d^0.5)"
print(gs.explain(tree).report())

"""
Your own data
=============

A table with a few times more rows than columns, of which few directions matter.
"""

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split

from giantstep.datasets import make_multi_index
from giantstep.estimators import GiantStepRegressor, IndexDirections

# %%
# Data of our own making, so that the answer is known: 20 columns, one direction.
X, y, directions = make_multi_index("abs(h1)", dim=20, samples=400, noise=0.1, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Ridge regression sees nothing of an even function.
model = GiantStepRegressor(random_state=0).fit(X_train, y_train)
print("ridge      ", round(RidgeCV().fit(X_train, y_train).score(X_test, y_test), 2))
print("giant steps", round(model.score(X_test, y_test), 2))

# %%
# The label over each index that was found, with the fitted link.
model.plot_links()

# %%
# The directions alone, with a test of each.
found = IndexDirections(random_state=0).fit(X_train, y_train)
print("p-value of the first direction:", found.pvalue_)
first = found.directions_[:, 0]
cosine = first @ directions[:, 0] / np.linalg.norm(first)
print("cosine with the true one:", round(float(abs(cosine)), 3))

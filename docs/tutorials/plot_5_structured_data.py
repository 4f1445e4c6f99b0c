"""
Structured data
===============

What changes when the inputs themselves have a direction?
"""

import matplotlib.pyplot as plt

import giantstep as gs

# %%
# A spike along the target's direction, strong enough, can be found without any label.
spectrum = gs.compare(gs.Pca(dim=200, samples="4d"), "He2(h1)/sqrt(2)", inputs="spiked:2", seeds=6)
print(spectrum.table())

# %%
# The flow of one neuron on the sphere is repelled by the spike; normalised by its output, it is
# not.
figure, axes = plt.subplots()
for geometry in ("spherical", "normalised"):
    settings = gs.GradientFlow(
        geometry=geometry,
        activation="relu",
        times="0.02:1:40",
        start_spike_overlap=0.3,
        start_target_overlap=0.4,
    )
    inputs = "spiked:strength=8,alignment=0.5"
    law = gs.predict(settings, "0.8*He2(h1)/sqrt(2) + 0.6*He3(h1)/sqrt(6)", inputs=inputs)
    law.plot(metric="target_overlap", ax=axes)
axes.legend(["spherical", "normalised"])

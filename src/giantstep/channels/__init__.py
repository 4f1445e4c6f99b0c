"""How labels come from fields: log Z, g_out and its derivative, closed forms and quadrature."""

from giantstep.channels.channel import (
    Channel,
    Likelihood,
    channel_for,
    label_means,
    posteriors,
)
from giantstep.channels.posterior import Posterior

__all__ = ["Channel", "Likelihood", "Posterior", "channel_for", "label_means", "posteriors"]

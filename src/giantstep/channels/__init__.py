"""How labels come from fields: log Z, g_out and its derivative, closed forms and quadrature."""

from giantstep.channels.channel import Channel as Channel
from giantstep.channels.channel import Likelihood as Likelihood
from giantstep.channels.channel import channel_for as channel_for
from giantstep.channels.channel import label_means as label_means
from giantstep.channels.channel import posteriors as posteriors
from giantstep.channels.posterior import Posterior as Posterior

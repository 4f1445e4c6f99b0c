"""How labels come from fields: log Z, g_out and its derivative, closed forms and quadrature."""

from giantstep.channels.channel import Channel as Channel
from giantstep.channels.channel import Likelihood as Likelihood
from giantstep.channels.channel import channel_label_means as channel_label_means
from giantstep.channels.channel import channel_of_problem as channel_of_problem
from giantstep.channels.channel import label_posteriors as label_posteriors
from giantstep.channels.posterior import Posterior as Posterior

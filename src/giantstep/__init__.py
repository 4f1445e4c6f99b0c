"""giantstep: how a neural network learns the few directions that matter.

The verbs are :func:`explain`, :func:`simulate`, :func:`predict`, :func:`compare`,
:func:`spectrum`, :func:`figure`, :func:`report` and :func:`lab`; the nouns :class:`Target`,
:class:`Problem` and one settings class per learner. Names are imported when they are first used, so
that ``import giantstep`` costs nothing; ``__init__.pyi`` lists them.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ = sorted(__all__)

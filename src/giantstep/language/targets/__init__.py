"""What is to be learned: functions g of a few latent directions h1..hr.

>>> from giantstep.language.targets import Target
>>> g = Target("h1 + He3(h1)*h2")
>>> g.rank, g.is_polynomial, g.kinks
(2, True, ((), ()))

**The language.** Directions ``h1``..``h20`` (``h`` alone is ``h1``), noises inside the label
``z1``..``z20``, numbers, ``pi``, ``+ - * /``, powers ``**`` or ``^``, parentheses, bars
``|h1|``, comparisons ``< <= > >=`` that are 1 or 0, the Hermite polynomials ``He(k, e)`` or
``He2(e)``..``He20(e)``, and the functions ``sign step relu abs min max tanh erf sigmoid softplus
gelu sin cos exp log sqrt Phi``. ``step(x)`` is 1 for x > 0 and else 0, ``sign(0)`` is 0, ``gelu``
is x Phi(x), ``Phi`` the standard normal distribution function. Text is parsed into our own tree;
nothing is ever run as Python.

**Other notations** are read as what they stand for: ``x1``, ``h_1``, ``h₁``, ``h[0]`` and
``X[:, 0]`` for h1 (brackets count from 0), ``h1²``, ``×``, ``2h1``, ``np.sign``, ``sgn``, ``ReLU``,
``H_3(h1)`` for He3, and LaTeX such as ``$\\mathrm{He}_3(h_1) h_2$``. The command line says how it
read them.

**A function of one variable**, such as an activation, is the same thing with another name for
its variable: ``ScalarFunction("relu(z - 1)")`` has ``numpy``, ``jax`` and ``kinks`` as a target
has, on arrays of any shape.

**From text to target.** ``giantstep.language.expressions`` parses and simplifies the text,
``reading`` calls it, and ``catalogue`` has the named targets.

**Trees.** A target of depth two has no fixed number of directions. :class:`TreeTarget` reads
``tree(OUTER, INNER, branches=1, leaves=d^0.5)``, with ``u`` the value of a branch and ``z`` a leaf;
:func:`any_target` reads either kind. Parities of hypercube inputs are plain expressions.
"""

from giantstep.language.targets.catalogue import Entry as Entry
from giantstep.language.targets.catalogue import catalogue as catalogue
from giantstep.language.targets.catalogue import tree_catalogue as tree_catalogue
from giantstep.language.targets.target import ScalarFunction as ScalarFunction
from giantstep.language.targets.target import Target as Target
from giantstep.language.targets.tree_target import TreeTarget as TreeTarget
from giantstep.language.targets.tree_target import any_target as any_target

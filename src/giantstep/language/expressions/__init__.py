"""How a function is written: text, tree, normal form, numbers and LaTeX.

``tokens`` and ``parser`` (text to tree), ``normal`` with ``polynomial`` and ``arithmetic`` (normal
form, so that equal functions have equal text), ``printing`` (text, LaTeX), ``evaluate`` (numpy,
JAX, SymPy), ``kinks``, and ``integrability`` with ``magnitude`` (is E[g^2] finite). Targets,
activations and losses are such expressions.
"""

"""How the first layer moves: the parts of the learner `giant-step`.

`plan` resolves the settings; `direct` and `in_law` are the two simulations, `simulation` chooses
between them. Both draw from `draws` through `samples` and share the formulas in `network`.
"""

"""The browser face: a page on which a target is typed, theory drawn and dots land on it.

``server`` has the addresses, ``security`` decides who is heard, ``connections`` keeps silent ones
from filling the house. ``jobs`` and ``crew`` run everything that computes in processes of their own
(``worker``, which does what is in ``work``), fairly and within ``limits``. ``describe`` turns the
declarations of settings into controls; ``experiment`` is the stream of a line and its dots.
"""

"""Worker processes: spawned, never forked, ended when a task takes too long or too much memory.

Studies and the lab share them. A ``Backlog`` holds jobs and says which is next, a ``Pool`` is some
processes that work it off, and every task has one ``Outcome``.
"""

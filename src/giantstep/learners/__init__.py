"""How it learns: one file an algorithm, at finite size and at random."""

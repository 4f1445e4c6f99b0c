"""How it learns: one file per algorithm, at finite size and at random."""

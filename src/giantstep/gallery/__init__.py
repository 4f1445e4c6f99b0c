"""One file per figure, in one house style."""

"""One file a figure, in one house style."""

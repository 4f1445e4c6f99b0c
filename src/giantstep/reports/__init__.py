"""One page about one target: what it is, how it is learned, and the commands behind it."""

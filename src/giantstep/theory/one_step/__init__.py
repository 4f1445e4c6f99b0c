"""One giant step and a fitted readout: what only one step has, small and intermediate steps."""

"""One giant step and a fitted readout: the risk, and the spectra of weights and features."""

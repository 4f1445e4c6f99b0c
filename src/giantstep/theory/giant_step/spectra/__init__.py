"""Spectra of the weights and of the features after any number of giant steps."""

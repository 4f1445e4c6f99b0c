"""The risk after any number of giant steps and a fit of the readout, in the limit and at d."""

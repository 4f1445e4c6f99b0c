"""What giant steps teach the first layer: overlaps, risk and spectra, batches fresh or reused."""

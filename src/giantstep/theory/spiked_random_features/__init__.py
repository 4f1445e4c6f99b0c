"""Ridge regression on features with one learned direction: a network after one step."""

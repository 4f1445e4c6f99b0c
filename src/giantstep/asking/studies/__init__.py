"""The same question, many times: grids of cells, the store that keeps them, the engines."""

#: The file that keeps studies unless told otherwise.
DEFAULT_STORE = "giantstep-studies.sqlite"

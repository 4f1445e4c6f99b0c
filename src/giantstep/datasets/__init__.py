"""Data to try estimators on: drawn from a target, or tables that other packages ship."""

from giantstep.datasets.multi_index import make_multi_index
from giantstep.datasets.tables import load_table, table_names

__all__ = ["load_table", "make_multi_index", "table_names"]

"""Data to try estimators on: drawn from a target, or tables that other packages ship."""

from giantstep.datasets.multi_index import make_multi_index as make_multi_index
from giantstep.datasets.tables import load_table as load_table
from giantstep.datasets.tables import table_names as table_names

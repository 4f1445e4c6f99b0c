"""`make bench`: every benchmark, one table."""

from __future__ import annotations

import importlib
import pkgutil
import sys

from rich.console import Console
from rich.table import Table

import benchmarks

#: Programs of their own, as in `python -m benchmarks.peers`, and a helper.
PROGRAMS = ("__main__", "row", "peers", "large", "fuzz", "coverage")
#: What takes long and measures no speed: run by name, `python -m benchmarks spiked_network`.
BY_NAME = ("spiked_network", "algorithm_one", "langevin_accuracy")


def main() -> int:
    """Run the modules named on the command line, or all that measure speed."""
    names = sys.argv[1:] or [
        module.name
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if module.name not in PROGRAMS + BY_NAME
    ]
    table = Table("benchmark", "work", "ours", "peer or limit", "ratio", "goal", "met")
    for name in names:
        Console(stderr=True).print(f"measuring {name} ...")
        for row in importlib.import_module(f"benchmarks.{name}").rows():
            met = "yes" if row.met else "NO"
            table.add_row(name, row.work, row.ours, row.peer, f"{row.ratio:.3g}", row.goal, met)
    Console(width=160).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())

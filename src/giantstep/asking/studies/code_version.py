"""The version of a learner's code: a digest of every source file its result depends on.

A package version would keep stale rows after an edit and throw away good ones after a release
that did not touch the learner. The digest is read off the source text, without importing it, so
that it is the same in every process and on every machine that has the same files.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import giantstep
from giantstep.asking.table import Learner
from giantstep.errors import GiantstepError, error_in_one_line


@lru_cache(maxsize=256)
def code_version(row: Learner, verb: str) -> str:
    """Digest of the sources behind a learner's ``simulate`` or ``predict``."""
    roots = (row.module("settings"), row.module(verb))
    packages = {"giantstep", row.package.split(".")[0]}
    try:
        sources = _learner_code_closure(roots, packages)
    except (OSError, SyntaxError, ValueError, ImportError) as error:
        raise GiantstepError(
            f"learner {row.name!r}: the source of its {verb} cannot be read "
            f"({error_in_one_line(error)})"
        ) from error
    if not sources:
        return f"giantstep {giantstep.__version__}"
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(f"{name}\0{sources[name]}\0".encode())
    return digest.hexdigest()


def _learner_code_closure(roots: tuple[str, ...], packages: set[str]) -> dict[str, str]:
    """Source text of the modules and of everything they import from these packages."""
    sources: dict[str, str] = {}
    waiting = list(roots)
    # The front door names every room and the release; no result depends on either.
    seen = {"giantstep"}
    while waiting:
        name = waiting.pop()
        if name in seen or name.split(".")[0] not in packages:
            continue
        seen.add(name)
        # Importing a module runs its package first.
        waiting.append(name.rpartition(".")[0])
        path = _learner_source_file(name)
        if path is not None:
            sources[name] = "\n".join(path.read_text(encoding="utf-8").splitlines())
            waiting += _code_imports(sources[name], name, is_package=path.name == "__init__.py")
    return sources


def _learner_source_file(name: str) -> Path | None:
    top, *parts = name.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None or not spec.submodule_search_locations:
        return None
    for location in spec.submodule_search_locations:
        path = Path(location, *parts)
        for candidate in (path / "__init__.py", path.with_suffix(".py")):
            if candidate.is_file():
                return candidate
    return None


def _code_imports(source: str, module: str, *, is_package: bool) -> Iterator[str]:
    package = module if is_package else module.rpartition(".")[0]
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            origin = importlib.util.resolve_name(relative, package)
            yield origin
            # What is imported may be a name in that module, or a module in that package.
            yield from (f"{origin}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        else:
            waiting += _learner_code_statements(node)


def _learner_code_statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements a compound statement holds; imports never hide in expressions."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        yield from getattr(node, part, ())

"""The formulas: every public function of the theory, topic by topic, with its status and papers."""

from __future__ import annotations

import ast
from pathlib import Path

import giantstep

_ROOT = Path(giantstep.__file__).parent
_HEAD = """# Formulas

Each function of the theory, with its equation, its assumptions, its status and its papers. The
[methods](../../methods/index.md) say in words how they fit together.
"""


def _modules(topic: Path) -> list[Path]:
    return sorted(path for path in topic.rglob("*.py") if path.name != "__init__.py")


def _first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.splitlines()[0].rstrip(".")


def _topic_page(topic: Path) -> str:
    parts = [f"# {_first_line(topic / '__init__.py')}"]
    for path in _modules(topic):
        name = ".".join(("giantstep", *path.relative_to(_ROOT).with_suffix("").parts))
        parts.append(f"## {path.stem.replace('_', ' ')}")
        parts.append(f"```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n```")
    return "\n\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """The pages by file name: one a topic, and one that lists them."""
    topics = sorted(path.parent for path in (_ROOT / "theory").glob("*/__init__.py"))
    toctree = "\n".join(topic.name for topic in topics)
    index = f"{_HEAD}\n```{{toctree}}\n:maxdepth: 1\n\n{toctree}\n```\n"
    texts = {f"formulas/{topic.name}.md": _topic_page(topic) for topic in topics}
    return {"formulas/index.md": index, **texts}

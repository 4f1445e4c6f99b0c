"""Reads a page as a browser would: its sections, commands, pictures, and what it would load."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """What the tests ask about a page."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.sections: list[str] = []
        self.commands: list[str] = []
        self.labels: list[str] = []
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._note(tag, dict(attributes))
        if tag not in VOID:
            self._open.append(tag)
        if self._open[-2:] == ["pre", "code"]:
            self.commands.append("")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._note(tag, dict(attributes))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        if {"pre", "code"} <= set(self._open):
            self.commands[-1] += data
        if "style" in self._open:
            self.loaded += [data] * ("@import" in data or "url(" in data)
        else:
            self.text += data

    def _note(self, tag: str, given: dict[str, str | None]) -> None:
        self.tags.append(tag)
        if "id" in given:
            self.ids.append(given["id"] or "")
        if tag == "section":
            self.sections.append(given["id"] or "")
        if tag == "svg":
            assert given["role"] == "img"
            self.labels.append(given["aria-label"] or "")
        target = given.get("href") or given.get("xlink:href") or given.get("src") or ""
        if tag == "a":
            self.links.append(target)
        elif target and not target.startswith("#"):
            self.loaded.append(target)

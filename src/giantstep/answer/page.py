"""An answer as HTML for a notebook: settings, metrics with errors, status, papers, picture."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING, Any

from giantstep.answer.selection import shown_metrics
from giantstep.answer.table import answer_columns
from giantstep.answer.words import answer_facts, answer_in_words, answer_notes, status_words

if TYPE_CHECKING:
    from giantstep.answer.answer import Answer

#: A page that is shown whenever a cell ends must not make anyone wait.
PATIENCE_SECONDS = 1.0
#: Longer tables are for `to_frame`.
MOST_ROWS = 30


def answer_page(answer: Answer) -> str:
    """The whole piece of HTML; it stands by itself."""
    chosen = shown_metrics(answer)
    shown = {n.metric for n in [*chosen.shown, *chosen.constant]}
    statuses = {name: status for name, status in answer.statuses.items() if name in shown}
    papers = answer.references
    parts = [
        f"<b>{answer.kind}: {escape(answer.learner)}</b>",
        f"<p>{escape(', '.join(answer_in_words(answer_facts(answer))))}</p>",
        _answer_html_table(answer_columns(answer, chosen)),
        f"<p>status: {escape(status_words(statuses))}</p>" if statuses else "",
        f"<p>papers: {escape('; '.join(papers))}</p>" if papers else "",
        *[f"<p><i>{escape(note)}</i></p>" for note in answer_notes(answer)],
        answer_picture(answer),
    ]
    return "<div>" + "\n".join(part for part in parts if part) + "</div>"


def _answer_html_table(columns: list[Any]) -> str:
    heads = "".join(f"<th>{escape(f'{c.over} {c.head}'.strip())}</th>" for c in columns)
    count = len(columns[0].cells)
    rows = [
        "<tr>" + "".join(f"<td>{escape(c.cells[row])}</td>" for c in columns) + "</tr>"
        for row in range(min(count, MOST_ROWS))
    ]
    more = f"<p>{count - MOST_ROWS} rows more</p>" if count > MOST_ROWS else ""
    return f"<table><tr>{heads}</tr>{''.join(rows)}</table>{more}"


def answer_picture(result: Any) -> str:
    """The picture that ``plot`` draws, on its own canvas: a notebook shows others twice."""
    from matplotlib.figure import Figure

    import giantstep

    figure = Figure(figsize=(4.6, 3.3), layout="constrained")
    giantstep.draw(result, ax=figure.subplots(), patience=PATIENCE_SECONDS)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=110)
    data = base64.b64encode(stream.getvalue()).decode()
    return f'<img alt="the same as a picture" src="data:image/png;base64,{data}">'

"""Answers in a notebook: HTML in which every text is escaped, and the MIME bundle."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from pgask.chart import chart_of
from pgask.value import plain, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pgask.answer import Answer
    from pgask.table import Table

_ROWS = 100
"""The most rows of a result that are shown."""
_CELL = 500
"""The longest cell, in characters."""


def answer_html(answer: Answer) -> str:
    """The narrative, each result, choices and passages, where it comes from, warnings."""
    parts = [f"<p>{_text(answer.narrative)}</p>"] if answer.narrative else []
    parts += [table_html(table) for table in answer.tables]
    if answer.missing_parameters:
        parts.append(
            _list(f"{p.name}: {', '.join(p.values) or p.type}" for p in answer.missing_parameters)
        )
    if answer.choices:
        parts.append(
            _list((f"{c.prompt} ({c.similarity:.2f} similar)" for c in answer.choices), "ol")
        )
    parts += [
        f"<blockquote>{_text(passage.chunk_text)}<br><small>{_text(passage.source)} "
        f"{_text(passage.source_id)}, {passage.similarity:.2f} similar</small></blockquote>"
        for passage in answer.evidence
    ]
    if answer.provenance:
        parts.append(f"<p><small><em>{_text(answer.provenance)}</em></small></p>")
    parts += [f"<p><small>Note: {_text(warning)}</small></p>" for warning in answer.warnings]
    return f"<div>{''.join(parts)}</div>"


def table_html(table: Table) -> str:
    """One result: its title, its chart where it has one, and the rows."""
    parts = [f"<p><strong>{_text(table.title)}</strong></p>"] if table.title else []
    parts.append(_bars(table))
    head = "".join(f"<th{_align(c.is_number)}>{_text(c.name)}</th>" for c in table.columns)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{_align(column.is_number)}>{_cell(show(cell, grouped=column.is_measure))}</td>"
            for cell, column in zip(row, table.columns, strict=True)
        )
        + "</tr>"
        for row in table.rows[:_ROWS]
    )
    parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    hidden = len(table.rows) - _ROWS
    if hidden > 0:
        parts.append(f"<p><small>{hidden:,} more rows</small></p>")
    if table.truncated:
        parts.append(f"<p><small>Only the first {len(table.rows):,} rows were read.</small></p>")
    return "".join(parts)


def bundle(
    plain_text: str,
    html: str,
    chart: Mapping[str, object] | None,
    include: Sequence[str] | None,
    exclude: Sequence[str] | None,
) -> dict[str, object]:
    """The representations by MIME type; IPython may ask for some or against some.

    No Markdown: viewers differ in what HTML inside it they let through.
    """
    content: dict[str, object] = {"text/plain": plain_text, "text/html": html}
    if chart is not None:
        content["application/vnd.vegalite.v5+json"] = chart
    return {
        kind: value
        for kind, value in content.items()
        if (not include or kind in include) and (not exclude or kind not in exclude)
    }


def _bars(table: Table) -> str:
    """Bars in SVG, which show wherever HTML does: a viewer may lack Vega-Lite."""
    chart = chart_of(table)
    if chart is None or table.display == "line":
        return ""
    numbers = chart.numbers[0][:30]
    drawn = [number for number in numbers if number is not None]
    low, high = min([0.0, *drawn]), max([0.0, *drawn])
    if high == low:
        return ""
    scale = 300 / (high - low)
    rows: list[str] = []
    for position, (label, number) in enumerate(zip(chart.label_texts(), numbers, strict=False)):
        y = 22 * position
        start = 210 + (min(number or 0, 0) - low) * scale
        width = abs(number or 0) * scale
        rows.append(
            f'<text x="200" y="{y + 15}" text-anchor="end">{_text(label[:30])}</text>'
            f'<rect x="{start:.1f}" y="{y + 3}" width="{width:.1f}" height="16" fill="#4c78a8"/>'
            f'<text x="520" y="{y + 15}">{_text(show(number))}</text>'
        )
    height = 22 * len(rows)
    return (
        f'<svg width="640" height="{height}" viewBox="0 0 640 {height}" '
        f'font-family="sans-serif" font-size="12" fill="currentColor">{"".join(rows)}</svg>'
    )


def _list(items: Iterable[str], tag: str = "ul") -> str:
    return f"<{tag}>{''.join(f'<li>{_text(item)}</li>' for item in items)}</{tag}>"


def _text(text: str) -> str:
    return escape(plain(text, lines=True)).replace("\n", "<br>")


def _cell(text: str) -> str:
    return _text(text if len(text) <= _CELL else text[: _CELL - 1] + "…")


def _align(right: bool) -> str:
    return ' style="text-align: right"' if right else ' style="text-align: left"'

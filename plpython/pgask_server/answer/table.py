"""A result as a table: valid Markdown, and aligned for whoever reads it in a fixed-width font.

The layout is a dozen lines over `wcwidth` and not `tabulate`, whose Markdown has two more blanks
in every column, knows no escapes, and costs half of the time that a whole answer may take.
NULL is shown as '—', booleans as yes and no.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgask_server.answer import shape as shapes
from pgask_server.answer import text

if TYPE_CHECKING:
    from pgask_server.answer.field import Field
    from pgask_server.answer.shape import Shape
    from pgask_server.answer.value import ResultTable

MOST_ROWS = 20
MOST_COLUMNS = 12
MOST_WIDTH = 60
"""Columns of a cell; what is longer ends in an ellipsis."""


def render(table: ResultTable, shape: Shape | None = None) -> str:
    """The table with at most MOST_ROWS rows and MOST_COLUMNS columns, and a line on what is left.

    A result without a column or without a row gives a line that says so.
    """
    shape = shape or shapes.read(table)
    if not shape.fields:
        return f"({text.plural(shape.row_count, 'row')} without a column)"
    shown = shape.fields[:MOST_COLUMNS]
    lines = _lay_out(shown, min(shape.row_count, MOST_ROWS))
    left = _left_over(table, shape)
    return "\n".join(lines) + (f"\n\n{left}" if left else "")


def _lay_out(fields: tuple[Field, ...], rows: int) -> list[str]:
    columns: list[list[str]] = []
    for field in fields:
        show, right = field.show, field.is_right_aligned
        cells = [text.cell(field.header, MOST_WIDTH)]
        cells += [text.cell(show(value), MOST_WIDTH) for value in field.values[:rows]]
        widest = max(3, max(width for _, width in cells))
        if right:
            column = [" " * (widest - width) + cell for cell, width in cells]
            column.insert(1, "-" * (widest - 1) + ":")
        else:
            column = [cell + " " * (widest - width) for cell, width in cells]
            column.insert(1, "-" * widest)
        columns.append(column)
    return [f"| {' | '.join(cells)} |" for cells in zip(*columns, strict=True)]


def _left_over(table: ResultTable, shape: Shape) -> str:
    notes: list[str] = []
    if shape.row_count > MOST_ROWS:
        notes.append(text.plural(shape.row_count - MOST_ROWS, "row", "more "))
    elif not shape.row_count:
        return "(no rows)"
    hidden = [text.escape(field.header) for field in shape.fields[MOST_COLUMNS:]]
    if hidden:
        listed = ", ".join(hidden[:10]) + (", …" if len(hidden) > 10 else "")
        notes.append(f"{text.plural(len(hidden), 'column', 'more ')} ({listed})")
    line = f"… {' and '.join(notes)}" if notes else ""
    if table.truncated:
        line += f"{'; ' if line else '… '}the result was cut at {shape.row_count:,} rows"
    return line

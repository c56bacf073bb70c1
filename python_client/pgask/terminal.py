"""Answers in a terminal. Every text is shown as it is: no markup, no escape sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.bar import Bar
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from pgask.chart import Chart, chart_of
from pgask.value import plain, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from pgask.answer import Answer
    from pgask.table import Table

_ROWS = 20
"""The most rows of a result that are shown: a screenful."""
_CELL = 60
"""The widest cell, in characters."""
_BAR = 40
"""The width of a bar chart, in characters."""


def answer_parts(answer: Answer) -> Iterator[RenderableType]:
    """The narrative, each result, choices and passages, where it comes from, warnings."""
    if answer.narrative:
        yield Text(plain(answer.narrative, lines=True))
    for table in answer.tables:
        yield Text()
        yield from table_parts(table)
    for parameter in answer.missing_parameters:
        allowed = ", ".join(parameter.values)
        example = f", such as {show(parameter.example)}" if parameter.example is not None else ""
        yield Text(plain(f"  {parameter.name}: {allowed or parameter.type}{example}"))
    if answer.choices:
        yield Text()
        yield _choices(answer)
    for passage in answer.evidence:
        yield Text()
        yield Padding(
            Text(plain(passage.chunk_text, lines=True), style="italic"), (0, 2), expand=False
        )
        source = f"{passage.source} {passage.source_id}, {passage.similarity:.2f} similar"
        yield Padding(Text(plain(source), style="dim"), (0, 2), expand=False)
    if answer.provenance:
        yield Text()
        yield Text(plain(answer.provenance), style="dim")
    for warning in answer.warnings:
        yield Text(plain(f"Note: {warning}"), style="yellow")


def table_parts(table: Table) -> Iterator[RenderableType]:
    """One result: its title, the rows, and its chart where it has one."""
    if table.title:
        yield Text(plain(table.title), style="bold")
    if table.display == "number" and len(table.rows) == 1 and len(table.columns) == 1:
        yield Text(show(table.rows[0][0], grouped=table.columns[0].is_measure), style="bold")
        return
    chart = chart_of(table)
    yield _grid(table)
    hidden = len(table.rows) - _ROWS
    if hidden > 0:
        yield Text(f"{hidden:,} more rows", style="dim")
    if table.truncated:
        yield Text(f"Only the first {len(table.rows):,} rows were read.", style="dim")
    if chart is not None:
        yield Text()
        yield _bars(chart)


def _grid(table: Table) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in table.columns:
        grid.add_column(
            Text(_cut(plain(column.name))),
            justify="right" if column.is_number else "left",
            overflow="fold",
        )
    for row in table.rows[:_ROWS]:
        grid.add_row(
            *(
                Text("NULL", style="dim")
                if cell is None
                else Text(_cut(show(cell, grouped=column.is_measure)))
                for cell, column in zip(row, table.columns, strict=True)
            )
        )
    return grid


def _bars(chart: Chart) -> Grid:
    """Bars of the first measure; below zero they point to the left."""
    numbers = chart.numbers[0][:_ROWS]
    drawn = [number for number in numbers if number is not None]
    low, high = min([0.0, *drawn]), max([0.0, *drawn])
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(justify="right")
    grid.add_column(width=_BAR, no_wrap=True)
    grid.add_column(justify="right")
    for label, number in zip(chart.label_texts(), numbers, strict=False):
        bar: RenderableType = Text()
        if number is not None and high > low:
            bar = Bar(high - low, min(number, 0) - low, max(number, 0) - low, color="cyan")
        grid.add_row(Text(_cut(label, 30)), bar, Text(show(number), style="dim"))
    return grid


def _choices(answer: Answer) -> Grid:
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(justify="right", style="dim")
    grid.add_column()
    grid.add_column(style="dim")
    for number, choice in enumerate(answer.choices, 1):
        grid.add_row(f"{number}.", Text(plain(choice.prompt)), f"{choice.similarity:.2f} similar")
    return grid


def _cut(text: str, width: int = _CELL) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"

"""One result of an answer: typed columns and rows, shown as a table or a chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pgask import value as values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas
    from rich.console import Console, ConsoleOptions, RenderResult

    from pgask.document import Document
    from pgask.value import Value

Display = Literal["table", "bar", "line", "pie", "number"]
_DISPLAYS: tuple[Display, ...] = ("table", "bar", "line", "pie", "number")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a result."""

    name: str
    type: str
    """The PostgreSQL type, as format_type() names it: 'numeric(10,2)', 'text'."""

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        return values.is_number(self.type)

    @property
    def is_measure(self) -> bool:
        """Whether its numbers are quantities: not keys, not years."""
        words = self.name.lower().replace("_", " ").split()
        return self.is_number and not {"id", "year", "key", "code"} & set(words[-1:])


@dataclass(frozen=True, slots=True)
class Table:
    """The result of one statement."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    """Values of the columns' types: date, datetime, Decimal, float, int, bool, UUID, str, None."""
    title: str | None
    display: Display
    """How the question's author wants it shown."""
    truncated: bool
    """True where the statement had more rows than the limit let through."""

    @classmethod
    def from_document(cls, document: Document) -> Table:
        """Read one of `tables` of the jsonb."""
        columns = tuple(
            Column(column.text("name"), column.text("type", "text"))
            for column in document.documents("columns")
        )
        display = document.text("display", "table")
        return cls(
            columns=columns,
            rows=tuple(
                tuple(
                    values.restore(value, column.type)
                    for value, column in zip(row, columns, strict=True)
                )
                for row in document.rows("rows")
            ),
            title=document.optional_text("title"),
            display=display if display in _DISPLAYS else "table",
            truncated=document.boolean("truncated"),
        )

    def to_pandas(self, *, exact: bool = True) -> pandas.DataFrame:
        """A DataFrame: dates and timestamps as datetime64, integers as Int64 (NULL is <NA>).

        exact: numeric columns keep Decimal objects; False makes them float64. Needs the extra
        pgask[pandas].
        """
        from pgask.frame import frame

        return frame(self, exact=exact)

    def vega_lite(self) -> Mapping[str, object] | None:
        """A Vega-Lite v5 specification of the chart, or None where the display is no chart."""
        from pgask.chart import vega_lite

        return vega_lite(self)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Show it in a terminal."""
        from pgask.terminal import table_parts

        yield from table_parts(self)

    def _repr_html_(self) -> str:
        from pgask.notebook import table_html

        return table_html(self)

    def _repr_mimebundle_(
        self, include: Sequence[str] | None = None, exclude: Sequence[str] | None = None
    ) -> dict[str, object]:
        from pgask.notebook import bundle

        return bundle(repr(self), self._repr_html_(), self.vega_lite(), include, exclude)

"""A result as a pandas DataFrame."""

# pandas brings no complete types of its own.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING

from pgask.value import base_type, is_integer

if TYPE_CHECKING:
    import pandas

    from pgask.table import Table


def frame(table: Table, *, exact: bool) -> pandas.DataFrame:
    """See Table.to_pandas()."""
    import pandas

    # By position, since two columns may have one name.
    series = [
        _typed(
            pandas.Series([row[i] for row in table.rows], dtype="object"), column.type, exact=exact
        )
        for i, column in enumerate(table.columns)
    ]
    result = pandas.DataFrame(dict(enumerate(series)))
    result.columns = pandas.Index([column.name for column in table.columns], dtype="object")
    return result


def _typed(series: pandas.Series, type_name: str, *, exact: bool) -> pandas.Series:
    import pandas

    base = base_type(type_name)
    try:
        if is_integer(type_name):
            return series.astype("Int64")
        if base in ("double precision", "real") or (base == "numeric" and not exact):
            return series.astype("float64")
        if base == "boolean":
            return series.astype("boolean")
        if base in ("date", "timestamp without time zone"):
            return pandas.to_datetime(series)
        if base == "timestamp with time zone":
            return pandas.to_datetime(series, utc=True)
    except (TypeError, ValueError, OverflowError):
        # A value that pandas cannot hold, such as infinity: the column stays as it is.
        return series
    return series

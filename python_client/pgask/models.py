"""What the functions and views of pgask return, row by row; columns are read by name."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import timedelta

RowT = TypeVar("RowT", bound="SearchHit | SourceStatus | QueueStatus | Check")


def read_row(kind: type[RowT], row: Mapping[str, object]) -> RowT:
    """A dataclass from the columns of the same names; columns it does not know are left out.

    Raises KeyError where the row lacks one.
    """
    make = cast("Callable[..., RowT]", kind)
    return make(**{field.name: row[field.name] for field in fields(kind)})


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One chunk that a search found."""

    source_schema: str
    source_table: str
    source_id: str
    """The key of the source row as text; of several key columns, a jsonb array's text."""
    chunk_index: int
    chunk_text: str
    filter_values: Mapping[str, object]
    similarity: float
    """Cosine similarity to the query, at most 1."""
    score: float
    """What the hits are ordered by, best first."""


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """A registered source and how far its embedding is: a row of `pgask.source_status`."""

    source_schema: str
    source_table: str
    is_active: bool
    reason: str | None
    """Why pgask itself switched the source off."""
    rows: int | None
    """The planner's estimate of the number of rows; None where there is none."""
    embedded: int
    """Source rows that have chunks."""
    chunks: int
    stale: int
    """Source rows embedded under another model or policy than the one in force."""
    pending: int
    running: int
    failed: int
    oldest_pending: timedelta | None
    """The age of the oldest waiting job."""
    embedding_models: Sequence[str]
    chunking_policy: str
    text_template: str
    notes: str | None


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """The queue of embedding jobs: the row of `pgask.queue_status`."""

    pending: int
    running: int
    failed: int
    due: int
    """Pending jobs that may be claimed now."""
    oldest_due: timedelta | None
    workers: int
    """Workers that hold a job."""

    @property
    def open(self) -> int:
        """Jobs that are not finished and have not failed."""
        return self.pending + self.running


@dataclass(frozen=True, slots=True)
class Check:
    """One finding of `pgask.doctor()`."""

    check: str
    status: Literal["ok", "warning", "error"]
    detail: str | None
    hint: str | None

"""What the command prints beside answers: hits, status, checks, progress."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING

from rich import box
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from pgask.value import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, RenderableType

    from pgask.models import Check, QueueStatus, SearchHit, SourceStatus

_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "error": ("✗", "red")}


def hits(found: Sequence[SearchHit]) -> Iterator[RenderableType]:
    """Each hit: where it is from, and its text."""
    if not found:
        yield Text("Nothing found.")
    for hit in found:
        place = f"{hit.source_schema}.{hit.source_table} {hit.source_id}"
        if hit.chunk_index:
            place += f" (chunk {hit.chunk_index})"
        line = Text(f"{hit.similarity:.2f}  ", style="bold")
        yield line.append(plain(place), style="dim")
        yield Padding(Text(plain(hit.chunk_text, lines=True)), (0, 0, 1, 6), expand=False)


def hits_json(found: Sequence[SearchHit]) -> str:
    """The hits as a JSON list of objects with the columns' names."""
    return json.dumps([asdict(hit) for hit in found], ensure_ascii=False, indent=2, default=str)


def status(sources: Sequence[SourceStatus], queue: QueueStatus) -> Iterator[RenderableType]:
    """A line for each source, and one for the queue."""
    if not sources:
        yield Text("No source is registered: see pgask.register_source().")
        return
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    # What is nowhere the case takes no column: the table is to fit a narrow terminal.
    counts = ["rows", "embedded", "chunks", "pending"]
    counts += [
        name for name in ("running", "stale", "failed") if any(getattr(s, name) for s in sources)
    ]
    for name in ("source", *counts, "oldest", "policy", "model"):
        grid.add_column(name, justify="right" if name in (*counts, "oldest") else "left")
    for source in sources:
        name = Text(plain(f"{source.source_schema}.{source.source_table}"))
        if not source.is_active:
            name.append(f" (inactive{plain(': ' + source.reason) if source.reason else ''})", "red")
        content = asdict(source)
        grid.add_row(
            name,
            *(_count(content[count], estimated=count == "rows") for count in counts),
            age(source.oldest_pending),
            source.chunking_policy,
            Text(plain(", ".join(source.embedding_models))),
        )
    yield grid
    waiting = f", the oldest for {age(queue.oldest_due)}" if queue.oldest_due else ""
    yield Text(
        f"{queue.due:,} due{waiting}; {queue.running:,} running; {queue.failed:,} failed",
        style="dim",
    )


def status_json(sources: Sequence[SourceStatus], queue: QueueStatus) -> str:
    """The same as a JSON object {sources, queue}; times in seconds."""
    content = {"sources": [asdict(source) for source in sources], "queue": asdict(queue)}
    return json.dumps(content, ensure_ascii=False, indent=2, default=_seconds)


def checks(found: Sequence[Check]) -> Iterator[RenderableType]:
    """Each finding with its mark, and what to do about it."""
    for check in found:
        mark, style = _MARKS[check.status]
        line = Text(f"{mark} ", style=style).append(plain(check.check), style="bold default")
        if check.detail:
            line.append(f"  {plain(check.detail)}", style="default")
        yield line
        if check.hint and check.status != "ok":
            yield Padding(
                Text(plain(check.hint, lines=True), style="dim"), (0, 0, 0, 2), expand=False
            )


def progress(console: Console) -> Progress:
    """A progress bar that counts rows."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def _count(number: int | None, *, estimated: bool) -> str:
    if number is None:
        return "?"
    return f"~{number:,}" if estimated else f"{number:,}"


def age(duration: timedelta | None) -> str:
    """A duration in its largest unit: 40 s, 3 min, 2 h, 5 d."""
    if duration is None:
        return ""
    seconds = max(duration.total_seconds(), 0)
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _seconds(value: object) -> object:
    return value.total_seconds() if isinstance(value, timedelta) else str(value)

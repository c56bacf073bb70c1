"""Embed a source to the end, with a progress bar."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pgask import Client

if TYPE_CHECKING:
    from rich.console import Console

    from pgask import SourceStatus


def embed(client: Client, dsn: str, source: str, console: Console) -> None:
    """Work in a second session until the source is embedded, and watch from this one."""
    state = _state(client, source)
    if state.pending + state.running == 0:
        console.print(f"{source} is embedded already.")
        return
    total = state.embedded + state.pending + state.running
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with (
        Progress(*columns, console=console) as progress,
        ThreadPoolExecutor(1) as thread,
        Client(dsn) as worker,
    ):
        bar = progress.add_task(f"Embedding {source}", total=total, completed=state.embedded)
        job = thread.submit(worker.work)
        while True:
            try:
                job.result(timeout=0.1)
            except NotYet:
                progress.update(bar, completed=_state(client, source).embedded)
            else:
                break
        state = _state(client, source)
        progress.update(bar, completed=state.embedded)
    if state.failed:
        console.print(f"{state.failed} rows could not be embedded: see pgask.failed_job.")


def _state(client: Client, source: str) -> SourceStatus:
    [state] = [s for s in client.status() if f"{s.source_schema}.{s.source_table}" == source]
    return state

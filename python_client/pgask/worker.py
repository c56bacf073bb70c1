"""The worker: calls work() whenever a source changed, until it is told to stop."""

from __future__ import annotations

import random
import signal
import threading
import time
from typing import TYPE_CHECKING

import psycopg

from pgask import queries
from pgask.client import Client
from pgask.errors import ConfigurationError, NotPermitted, PgaskError, translated

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from pgask.client import Connection
    from pgask.models import QueueStatus

FIRST_BATCH = 64
"""Jobs in the first call of work(); `next_batch` says how many in the following ones."""
_FIRST_PAUSE = 1.0
"""Seconds after the first pass that failed; doubled after each that follows."""
_LONGEST_PAUSE = 60.0
"""Seconds between two attempts to connect, at most."""
_CANCEL_WAIT = 5.0
"""Seconds that a canceled statement has to end."""
_GLANCE = 0.5
"""Seconds after which a waiting worker looks whether it is to stop."""


def next_batch(batch: int, seconds: float) -> int:
    """How many jobs the next call of work() does, when the last `batch` took `seconds`.

    Between two calls a worker looks whether it is to stop, and counts the queue, which takes
    long where millions wait: a call is to take a few seconds, whatever the model's speed.
    """
    if seconds < 2:
        return min(batch * 2, 4096)
    return max(batch // 2, 16) if seconds > 8 else batch


def embedded(before: QueueStatus | None, after: QueueStatus) -> bool:
    """Whether jobs were finished in between: a failed or a postponed job is still there.

    Where more came than was finished, this is False although there was progress.
    """
    return before is not None and after.open + after.failed < before.open + before.failed


def stands_still(before: QueueStatus | None, after: QueueStatus) -> bool:
    """Whether a pass in between had nothing to do: what is due may belong to a source at rest."""
    return after.due == 0 or (
        before is not None
        and (before.due, before.pending, before.running, before.failed)
        == (after.due, after.pending, after.running, after.failed)
    )


class Worker:
    """Keeps the index fresh with `count` sessions, each with a connection of its own.

    A session waits for a notification of the sources' triggers, or `poll` seconds: what is
    retried later notifies nobody. A lost connection is made again, with growing pauses. Errors
    of the set-up (pgask absent, another version, no rights) end the worker.

    report: gets one line for each event worth a log. grace: seconds that running batches have
    to end after `stop()`; then their statements are canceled, and the jobs they hold are claimed
    again by another worker when their lease ends.
    """

    def __init__(
        self,
        dsn: str = "",
        *,
        count: int = 1,
        poll: float = 10.0,
        grace: float = 20.0,
        report: Callable[[str], None] = print,
    ) -> None:
        self._sessions = [_Session(dsn, poll, report) for _ in range(count)]
        self._grace = grace
        self._report = report
        # No Event: a signal handler that sets one may wait for a lock its own thread holds.
        self._stops = 0

    def run(self) -> None:
        """Work until `stop()` is called; raises the error that ended the worker, if one did."""
        threads = [
            threading.Thread(target=session.run, name=f"worker-{number}", daemon=True)
            for number, session in enumerate(self._sessions, 1)
        ]
        for thread in threads:
            thread.start()
        while not self._stops and not any(session.error for session in self._sessions):
            time.sleep(_GLANCE)
        self._finish(threads)
        for session in self._sessions:
            if session.error is not None:
                raise session.error

    def stop(self) -> None:
        """Take no new batch; a second call cancels the running ones."""
        self._stops += 1

    def stop_on_signals(self) -> None:
        """Let SIGTERM and SIGINT call `stop()`. To be called in the main thread."""

        def handle(number: int, frame: FrameType | None) -> None:
            del frame
            self._report(f"{signal.Signals(number).name}: stopping after the current batch")
            self.stop()

        signal.signal(signal.SIGTERM, handle)
        signal.signal(signal.SIGINT, handle)

    def _finish(self, threads: list[threading.Thread]) -> None:
        for session in self._sessions:
            session.stopping.set()
        if self._join(threads, lambda: self._grace if self._stops < 2 else 0.0):
            return
        for session in self._sessions:
            session.cancel()
        # A server that waits for a model notices the cancel only when the model has replied.
        if not self._join(threads, lambda: _CANCEL_WAIT):
            self._report("left before the model replied; its jobs are done when their lease ends")

    def _join(self, threads: list[threading.Thread], seconds: Callable[[], float]) -> bool:
        """Wait for all threads, for so long as `seconds` says, which may shrink meanwhile."""
        began = time.monotonic()
        while any(thread.is_alive() for thread in threads):
            if time.monotonic() - began >= seconds():
                return False
            for thread in threads:
                thread.join(_GLANCE / len(threads))
        return True


class _Session:
    """One connection that works and waits."""

    def __init__(self, dsn: str, poll: float, report: Callable[[str], None]) -> None:
        self._client = Client(dsn)
        self._poll = poll
        self._report = report
        self._warned = False
        self._batch = FIRST_BATCH
        self._queue: QueueStatus | None = None
        self._pause = _FIRST_PAUSE
        self.stopping = threading.Event()
        self.error: PgaskError | None = None

    def run(self) -> None:
        pause = _FIRST_PAUSE
        while not self.stopping.is_set():
            try:
                with self._client:
                    self._prepare(self._client.connection)
                    while not self.stopping.is_set():
                        self._work()
                        pause = _FIRST_PAUSE
            except (ConfigurationError, NotPermitted) as error:
                self.error = error
                return
            except PgaskError as error:
                if self.stopping.is_set():
                    return
                cause = error.message.splitlines()[0]
                self._report(f"{cause}: trying again in {pause:.0f} s")
                self.stopping.wait(pause * random.uniform(0.75, 1.25))  # noqa: S311
                pause = min(pause * 2, _LONGEST_PAUSE)

    def cancel(self) -> None:
        """Cancel the statement that runs, if one does."""
        connection = self._client.connected
        if connection is not None:
            try:
                connection.cancel_safe(timeout=5)
            except psycopg.Error as error:
                self._report(f"could not cancel: {error}")

    def _prepare(self, connection: Connection) -> None:
        def warn(diagnosis: psycopg.errors.Diagnostic) -> None:
            if diagnosis.severity_nonlocalized == "WARNING":
                self._warned = True
                self._report(diagnosis.message_primary or "")

        connection.add_notice_handler(warn)
        with translated():
            connection.execute(queries.LISTEN)

    def _work(self) -> None:
        self._warned = False
        began = time.monotonic()
        self._client.work(max_jobs=self._batch)
        seconds = time.monotonic() - began
        before, self._queue = self._queue, self._client.queue()
        progress = embedded(before, self._queue)
        if progress:
            self._pause = _FIRST_PAUSE
        if self._warned and not progress:
            # A model that is down is not asked in a hurry, whatever changes meanwhile. One source
            # that cannot be read warns as well, and keeps nobody from the others.
            self.stopping.wait(min(self._pause, self._poll))
            self._pause = min(self._pause * 2, self._poll)
        elif stands_still(before, self._queue):
            self._wait()
        else:
            self._batch = next_batch(self._batch, seconds)

    def _wait(self) -> None:
        """Until something changed, also while the last work() ran, or the time to poll is here."""
        until = time.monotonic() + self._poll
        while not self.stopping.is_set() and (left := until - time.monotonic()) > 0:
            with translated():
                connection = self._client.connection
                wait = min(left, _GLANCE)
                if any(True for _ in connection.notifies(timeout=wait, stop_after=1)):
                    # One pass serves all that came together.
                    for _ in connection.notifies(timeout=0):
                        pass
                    return

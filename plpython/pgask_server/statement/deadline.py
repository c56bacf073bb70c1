"""A time limit that interrupts this backend wherever PostgreSQL would heed a cancel request.

PostgreSQL's own timers belong to the client's statement, and no Python thread runs while a query
does. So the kernel is asked to send SIGINT, which the backend takes for a cancel request (57014),
to its main thread when the time is up.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from typing import Protocol

_SIGINT = 2
_CLOCK_MONOTONIC = 1
_SIGEV_THREAD_ID = 4


class Deadline(Protocol):
    """An armed limit."""

    def disarm(self) -> bool:
        """Take the limit away, once; whether it had struck. After this no signal follows."""
        ...


class _Value(ctypes.Union):
    _fields_ = [("integer", ctypes.c_int), ("pointer", ctypes.c_void_p)]


class _Event(ctypes.Structure):
    # struct sigevent: 64 bytes on every Linux; only the thread id of its union is used.
    _fields_ = [
        ("value", _Value),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("thread", ctypes.c_int),
        ("padding", ctypes.c_char * 64),
    ]


class _Moment(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


class _Setting(ctypes.Structure):
    _fields_ = [("interval", _Moment), ("value", _Moment)]


def _library() -> ctypes.CDLL | None:
    """The C library if it has POSIX timers that can name a thread."""
    if not sys.platform.startswith("linux"):
        return None
    for name in (None, "librt.so.1"):
        try:
            library = ctypes.CDLL(name, use_errno=True)
            for function in ("timer_create", "timer_settime", "timer_gettime", "timer_delete"):
                getattr(library, function).restype = ctypes.c_int
        except (OSError, AttributeError):
            continue
        return library
    return None


_LIBRARY = _library()


class _KernelTimer:
    """A POSIX timer: no process, no thread, a few microseconds."""

    def __init__(self, library: ctypes.CDLL, milliseconds: float) -> None:
        self._library = library
        self._timer = ctypes.c_void_p()
        event = _Event()
        event.signal = _SIGINT
        event.notify = _SIGEV_THREAD_ID
        event.thread = threading.get_native_id()
        if library.timer_create(_CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(self._timer)):
            raise OSError(ctypes.get_errno(), "timer_create")
        seconds, rest = divmod(milliseconds / 1000, 1)
        # A value of zero would never strike.
        setting = _Setting(_Moment(0, 0), _Moment(int(seconds), max(1, int(rest * 1e9))))
        if library.timer_settime(self._timer, 0, ctypes.byref(setting), None):
            error = ctypes.get_errno()
            library.timer_delete(self._timer)
            raise OSError(error, "timer_settime")

    def disarm(self) -> bool:
        rest, nothing = _Setting(), _Setting()
        # Setting it to zero stops it; what was left tells whether it had struck.
        self._library.timer_settime(self._timer, 0, ctypes.byref(nothing), ctypes.byref(rest))
        self._library.timer_delete(self._timer)
        return not (rest.value.seconds or rest.value.nanoseconds)


class _ChildProcess:
    """Where the kernel has no such timers: a sleeping process that sends the signal."""

    def __init__(self, milliseconds: float) -> None:
        self._process = subprocess.Popen(  # noqa: S603 (numbers only)
            ["/bin/sh", "-c", f"sleep {milliseconds / 1000:.3f} && kill -INT {os.getpid()}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def disarm(self) -> bool:
        if self._process.poll() is None:
            os.killpg(self._process.pid, 9)
        return self._process.wait() == 0


def arm(milliseconds: float) -> Deadline:
    """Start a limit of so many milliseconds (more than 0) for the current backend."""
    if _LIBRARY is None:
        return _ChildProcess(milliseconds)
    try:
        return _KernelTimer(_LIBRARY, milliseconds)
    except OSError:  # the limit of pending signals, RLIMIT_SIGPENDING
        return _ChildProcess(milliseconds)

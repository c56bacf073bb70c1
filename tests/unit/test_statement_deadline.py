"""The time limit, without a database: the signal comes in time, or not at all."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator

import pytest

from pgask_server.statement import deadline

Arm = Callable[[float], deadline.Deadline]


@pytest.fixture(params=["kernel timer", "child process"])
def arm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Arm:
    if request.param == "child process":
        monkeypatch.setattr(deadline, "_LIBRARY", None)
    elif deadline._LIBRARY is None:  # pyright: ignore[reportPrivateUsage]
        pytest.skip("this system has no such timers")
    return deadline.arm


@pytest.fixture
def struck() -> Iterator[list[float]]:
    """When SIGINT came."""
    times: list[float] = []
    before = signal.signal(signal.SIGINT, lambda *_: times.append(time.monotonic()))
    yield times
    signal.signal(signal.SIGINT, before)


def test_it_strikes_when_the_time_is_up(arm: Arm, struck: list[float]) -> None:
    started = time.monotonic()
    limit = arm(100)
    while not struck and time.monotonic() < started + 5:
        time.sleep(0.01)
    assert 0.09 < struck[0] - started < 2
    assert limit.disarm() is True


def test_it_does_not_strike_once_it_is_disarmed(arm: Arm, struck: list[float]) -> None:
    limit = arm(150)
    assert limit.disarm() is False
    time.sleep(0.3)
    assert not struck


def test_it_never_strikes_without_saying_so(struck: list[float]) -> None:
    for count in range(500):
        before = len(struck)
        limit = deadline.arm(0.02 + count % 20 / 100)
        time.sleep(0.00005)
        hit = limit.disarm()
        # A limit that ends while it is taken away may say so without a signal.
        assert len(struck) - before <= int(hit)
    after = len(struck)
    time.sleep(0.05)
    assert len(struck) == after

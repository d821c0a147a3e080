"""Starts Ray on this machine, or joins a cluster within a time limit; the user can cancel.

``ray.init`` tries for minutes to reach a cluster that does not answer, and nothing stops it. So it
runs in a thread, which leaves the cluster again if it joins too late.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from .activity import PAUSE_S
from .cluster import LOCAL, cluster_address

ANYWAY = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # Ray reads it too
LIMIT_S = 30.0  # for joining a cluster
# Number of tries of Ray 2.58, each of 41 s; 20 if it is not set.
TRIES = "RAY_gcs_server_port_wait_time_s"
QUIET = {"log_to_driver": False, "configure_logging": False}


def begin(ray: Any, chosen: str, waits: Callable[[], None]) -> bool:
    """Start Ray on this machine or join the user's cluster; False if Ray was running already.

    Args:
        waits: called several times a second; raises if the user has cancelled.

    Raises:
        ValueError: the cluster cannot be joined; the reason, and what to do.
    """
    if _last is not None and _last.is_alive():
        raise ValueError(
            "Ray still tries to join a cluster that was given up, for a minute (older versions: a "
            "quarter of an hour); queue again then, or start ComfyUI again"
        )
    if ray.is_initialized():
        return False
    if chosen == LOCAL:
        ray.init(address=LOCAL, include_dashboard=False, **QUIET)
    else:
        _join(ray, cluster_address(), waits)
    return True


class _Attempt(threading.Thread):
    """Thread that joins a cluster, and leaves it if nobody is waiting any more."""

    def __init__(self, ray: Any, address: str) -> None:
        super().__init__(name="golden path joins Ray", daemon=True)
        self.error: Exception | None = None
        self.is_joined = False
        self._ray, self._address = ray, address
        self._is_wanted, self._changing = True, threading.Lock()

    def run(self) -> None:
        own = os.environ.get(TRIES)
        os.environ[TRIES] = own or "1"
        try:
            self._ray.init(address=self._address, **QUIET)
        except Exception as error:  # Ray raises many kinds; the waiting thread reports it
            self.error = error
        finally:
            if own is None:
                del os.environ[TRIES]
        with self._changing:
            self.is_joined = self.error is None
            if self.is_joined and not self._is_wanted:
                self._ray.shutdown()

    def give_up(self) -> None:
        """Leave the cluster again, now or as soon as it is joined."""
        with self._changing:
            self._is_wanted = False
            if self.is_joined:
                self._ray.shutdown()


_last: _Attempt | None = None


def _join(ray: Any, address: str, waits: Callable[[], None]) -> None:
    global _last
    if sys.platform != "linux" and os.environ.get(ANYWAY) != "1":
        raise ValueError(
            f"Ray supports clusters of several machines on Linux only, this is {sys.platform}; "
            f"choose the address {LOCAL!r}, or set {ANYWAY}=1 to try it anyway"
        )
    _last = attempt = _Attempt(ray, address)
    attempt.start()
    end = time.monotonic() + LIMIT_S
    try:
        while attempt.is_alive() and time.monotonic() < end:
            waits()
            attempt.join(PAUSE_S)
    except BaseException:  # the user has cancelled
        attempt.give_up()
        raise
    if attempt.is_joined:
        return
    attempt.give_up()
    reason = attempt.error or f"that took more than {LIMIT_S:g} seconds"
    raise ValueError(
        f"the Ray cluster {address} of your settings cannot be joined ({reason}); start Ray there "
        "and on this machine, with the same version, or correct the address"
    ) from attempt.error

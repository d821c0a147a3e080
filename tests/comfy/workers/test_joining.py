"""Joining a cluster ends: by a limit, by the user; what comes too late is undone."""

import os
import threading
import time

import pytest
from golden_path_pack.nodes.workers import joining

CLUSTER, ADDRESS = "the cluster of my settings", "10.0.0.1:6379"
TRIES = "RAY_gcs_server_port_wait_time_s"


class Ray:
    """In place of the module; joining goes on until it may end."""

    def __init__(self):
        self.may_end = threading.Event()
        self.calls, self.fault = [], None

    def is_initialized(self):
        return False

    def init(self, address, **_):
        self.calls.append((address, os.environ.get(TRIES)))
        assert self.may_end.wait(10)
        if self.fault:
            raise self.fault

    def shutdown(self):
        self.calls.append("shutdown")


@pytest.fixture
def ray(monkeypatch):
    monkeypatch.setattr(joining, "LIMIT_S", 0.1)
    monkeypatch.setattr(joining, "PAUSE_S", 0.02)
    monkeypatch.setattr(joining, "_last", None)
    monkeypatch.setenv("GOLDEN_PATH_RAY_ADDRESS", ADDRESS)
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "1")
    monkeypatch.delenv(TRIES, raising=False)
    found = Ray()
    yield found
    found.may_end.set()
    if joining._last is not None:
        joining._last.join(10)


def nothing():
    pass


@pytest.mark.parametrize("chosen", [CLUSTER, "ray://10.9.9.9:10001"])
def test_whatever_arrives_the_cluster_of_the_settings_is_joined_in_one_try(ray, chosen):
    ray.may_end.set()
    assert joining.begin(ray, chosen, nothing)
    assert ray.calls == [(ADDRESS, "1")]
    assert TRIES not in os.environ


def test_on_this_machine_ray_gets_no_address(ray):
    ray.may_end.set()
    assert joining.begin(ray, "local", nothing)
    assert ray.calls == [("local", None)]


def test_the_user_says_how_often_ray_tries(ray, monkeypatch):
    monkeypatch.setenv(TRIES, "7")
    ray.may_end.set()
    joining.begin(ray, CLUSTER, nothing)
    assert ray.calls == [(ADDRESS, "7")]
    assert os.environ[TRIES] == "7"


def test_what_ray_says_is_told_with_the_address(ray):
    ray.may_end.set()
    ray.fault = OSError("another version")
    with pytest.raises(ValueError, match=rf"{ADDRESS} of your .* be joined \(another version\)"):
        joining.begin(ray, CLUSTER, nothing)


def test_the_user_can_cancel_it(ray):
    looks = iter(range(3))

    def cancel():
        if next(looks) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        joining.begin(ray, CLUSTER, cancel)
    ray.may_end.set()
    joining._last.join(10)
    assert ray.calls == [(ADDRESS, "1"), "shutdown"]


def test_what_is_joined_too_late_is_left_and_nothing_else_begins_before(ray):
    began = time.monotonic()
    with pytest.raises(ValueError, match=f"{ADDRESS} of your .* took more than 0.1 seconds"):
        joining.begin(ray, CLUSTER, nothing)
    assert time.monotonic() - began < 5
    for chosen in (CLUSTER, "local"):
        with pytest.raises(ValueError, match="still tries to join a cluster that was given up"):
            joining.begin(ray, chosen, nothing)
    ray.may_end.set()
    joining._last.join(10)
    assert ray.calls == [(ADDRESS, "1"), "shutdown"]
    assert joining.begin(ray, "local", nothing)


def test_where_ray_is_at_work_nothing_is_joined_and_no_setting_needed(ray, monkeypatch):
    """As in a worker, whose workflow has a *Search Workers* of its own."""
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.delenv("GOLDEN_PATH_RAY_ADDRESS", raising=False)
    assert not joining.begin(ray, CLUSTER, nothing)
    assert ray.calls == []

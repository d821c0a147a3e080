"""What runs by default, what with ``--all``, and which tests a worker keeps together."""

import gc
import os
from pathlib import Path

import pytest

# The models are tiny: threads would only wait for each other. Set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

PAGE = Path(__file__).parent / "browser"
PROJECT = Path(__file__).parent / "project"  # one group, which parses each file once
WORKERS = Path(__file__).parent / "comfy" / "workers"  # each file has servers of its own


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="also long tests")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Group first, for the workers; leave out at the end, of what ``-k`` and others keep."""
    served = {item.path for item in items if "url" in getattr(item, "fixturenames", ())}
    for item in items:
        if PAGE in item.path.parents:  # which has groups of its own
            continue
        # The fixtures of a module are made once, and ComfyUI's state stays that of one worker.
        group = PROJECT.name if item.path.parent == PROJECT else item.nodeid.partition("::")[0]
        if item.path in served and item.path.parent != WORKERS:
            group = "server"  # starts once
        item.add_marker(pytest.mark.xdist_group(group))
    yield
    leave_out(config, items)


def pytest_collection_finish(session):
    """Check that tests are grouped, and take what is loaded out of garbage collection.

    ComfyUI collects garbage in each sampling, and looked through torch and all tests for 0.2 s.
    """
    is_worker = hasattr(session.config, "workerinput")
    if is_worker and not all("@" in item.nodeid for item in session.items):
        raise pytest.UsageError("this pytest-xdist groups no tests; see pyproject.toml for another")
    gc.collect()
    gc.freeze()


def leave_out(config, items):
    """Leave out long tests, but by ``--all``; a test that is named runs whole."""
    if config.getoption("--all") or any("::" in argument for argument in config.args):
        return
    out = [item for item in items if item.get_closest_marker("long")]
    config.stash[LATER] = len(out)
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if not item.get_closest_marker("long")]


LATER = pytest.StashKey[int]()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """A worker tells how many tests wait for ``--all``; all workers leave out the same."""
    node.config.stash[LATER] = node.workeroutput.get("later tests", 0)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["later tests"] = session.config.stash.get(LATER, 0)


def pytest_terminal_summary(terminalreporter, config):
    if count := config.stash.get(LATER, 0):
        terminalreporter.write_line(f"{count} more tests with --all")

"""What runs by default, what with ``--all``, and which tests a worker keeps together."""

import gc
import os
from pathlib import Path

import pytest

from .support import selection

# The models are tiny: threads would only wait for each other. Set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

PAGE = Path(__file__).parent / "browser"


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="also long tests and whole products")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Group first, for the workers; leave out at the end, of what ``-k`` and others keep."""
    for item in items:
        if PAGE not in item.path.parents:  # which has groups of its own
            # The fixtures of a module are made once, and ComfyUI's state stays that of one worker.
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    yield
    if not config.getoption("--all"):
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
    named = {argument for argument in config.args if "::" in argument}
    long = [i for i in items if i.get_closest_marker("long") and not named]
    logic = [i for i in items if PAGE not in i.path.parents]  # the page has a rule of its own
    out = set(long) | set(selection.left_out([i for i in logic if i not in set(long)]))
    config.hook.pytest_deselected(items=[i for i in items if i in out])
    items[:] = [i for i in items if i not in out]
    config.stash[LEFT_OUT] = len(out)


LEFT_OUT = pytest.StashKey[int]()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """A worker tells the one that reports how many tests it left out; all leave out the same."""
    node.config.stash[LEFT_OUT] = node.workeroutput.get("left out", 0)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left out"] = session.config.stash.get(LEFT_OUT, 0)


def pytest_terminal_summary(terminalreporter, config):
    if count := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"{count} long tests and cases of products: only with --all")

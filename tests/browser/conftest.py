"""The pack's pages in a real ComfyUI and a real browser.

There are two pages. Tests run on the front end that ComfyUI pins with classic nodes, which is what
an installation has until its user changes a setting; those marked ``both_pages`` also run on the
newest front end with Nodes 2.0, and with ``--all`` every test does. Without COMFYUI_PATH or a
browser the folder is left out; on a build machine a missing browser is an error.
"""

import os
import re
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

import dev

from . import chromium
from .front_end import bring
from .page import READY, SETTINGS, load, set_up, workflow_of

CHROMIUM = chromium.find() if os.environ.get("COMFYUI_PATH") else None
collect_ignore_glob = [] if CHROMIUM else ["test_*.py"]
if os.environ.get("COMFYUI_PATH") and not CHROMIUM and chromium.is_ci():
    raise pytest.UsageError(f"no browser: {chromium.REMEDY}")

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
# Without animations there is nothing to wait for, and half as much to draw. The pack has none.
STILL = """
const still = new CSSStyleSheet();
still.replaceSync(
  "*, ::before, ::after { animation: none !important; transition: none !important; }"
);
document.adoptedStyleSheets = [...document.adoptedStyleSheets, still];
"""
# Renderers by front end: the default one, and the other.
RENDERERS = {"pinned": "classic", "newest": "vue"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Keep what shares a page in one process, and most tests of the newest one for ``--all``."""
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        here = item.callspec.params.get("front_end") if hasattr(item, "callspec") else None
        item.add_marker(pytest.mark.xdist_group(f"page {here}"))
        if here == "newest" and not item.get_closest_marker("both_pages"):
            item.add_marker(pytest.mark.long)


def pytest_terminal_summary(terminalreporter):
    if not CHROMIUM:
        terminalreporter.write_line(f"The tests of the page were left out: {chromium.REMEDY}")


@pytest.fixture(scope="package", params=RENDERERS)
def front_end(request):
    """The one that ComfyUI pins, or the newest."""
    return request.param


@pytest.fixture(scope="package")
def url(front_end, tmp_path_factory):
    """A ComfyUI with this pack."""
    python = Path(sys.executable)
    tools = dev.Tools(Path(os.environ["COMFYUI_PATH"]), python)
    arguments = ["--cpu", "--disable-api-nodes"]
    if front_end == "newest":
        arguments += ["--front-end-root", str(bring(python))]
    log = tmp_path_factory.mktemp("server") / "server.log"
    with dev.server(tools, arguments, threads=1, log=log) as running:
        yield running.url


@pytest.fixture(scope="package")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def renderer(front_end):
    """The classic canvas, or Nodes 2.0."""
    return RENDERERS[front_end]


@pytest.fixture(scope="package")
def loaded(url, browser, renderer):
    """The one page of a front end and renderer, and the list of what went wrong in it.

    A page takes 5 to 15 seconds to load, so all files of tests share it.
    """
    set_up(url, SETTINGS | {"Comfy.VueNodes.Enabled": renderer == "vue"})
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    context.add_init_script(STILL)
    page = context.new_page()
    page.set_default_timeout(30_000)  # of a busy machine
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.extend(_ours(message)))
    page.goto(url, timeout=90_000)
    page.wait_for_function(READY, timeout=90_000)
    yield page, problems
    context.close()


@pytest.fixture(scope="module")
def page(loaded):
    """The loaded page with one empty tab; the module fails on its errors or our scripts'."""
    page, problems = loaded
    problems.clear()
    load(page, workflow_of())
    page.mouse.move(1300, 900)  # away from what an earlier module left
    yield page
    found = list(problems)
    problems.clear()
    assert found == []


# What the pack's routes answer where the user is to be told something, and 503, with which tests
# feign a server that is away; in Chromium's words. A route that fails answers 500.
REFUSED = "PromptExecutionError: "  # ComfyUI's word on it, with our wrapper among the callers
EXPECTED = re.compile(r"Failed to load resource: .* responded with a status of (400|409|503)\b")

MISSING = "responded with a status of 404"  # of a temporary file that ComfyUI has deleted


def _ours(message):
    if EXPECTED.match(message.text) and "/golden_path/" in message.location["url"]:
        return
    if MISSING in message.text and "type=temp" in message.location["url"]:
        return
    if message.text.startswith(REFUSED):
        return
    source = f"{message.text} {message.location.get('url', '')}"
    ours = dev.PACK_NAME in source or "golden" in source.lower()
    failed_hook = "Error calling extension" in source
    if message.type in ("error", "warning") and (ours or failed_hook):
        yield f"{message.type}: {message.text}"

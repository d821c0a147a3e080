"""Photograph the editor and a finished run for the documentation: python dev.py examples"""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import dev

from .conftest import CHROMIUM, FLAGS
from .editor import SIZE, Editor, node
from .page import example, load, run, two_frames
from .search import with_workers
from .thumbnails import opened

IMAGES = dev.ROOT / "docs" / "images"
RENDERERS = {"classic": False, "nodes2": True}
SCHEDULES = {20: "0-3,5,8,12,19/20", 50: "0-4,6,8,10,14,19,30,43,49/50"}
CACHE, EDITOR = 2, 80  # node ids in the demo workflow
MARGIN = 6


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    tools = dev.Tools(Path(os.environ["COMFYUI_PATH"]), Path(sys.executable))
    with sync_playwright() as playwright, dev.server(tools, ["--cpu"], threads=1) as running:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for (renderer, is_nodes2), palette in itertools.product(
            RENDERERS.items(), ("dark", "light")
        ):
            settings = {"Comfy.VueNodes.Enabled": is_nodes2, "Comfy.ColorPalette": palette}
            page = opened(browser, running.url, settings)
            for steps, text in SCHEDULES.items():
                Editor.open(page, text)
                photograph(page, (1,), IMAGES / f"editor_{renderer}_{palette}_{steps}.png")
            load(page, edited_demo(seed=1000 + len(list(IMAGES.iterdir()))))
            if (outcome := run(page)) != "execution_success":
                raise RuntimeError(f"the demo workflow did not run: {outcome}")
            photograph(page, (EDITOR, CACHE), IMAGES / f"run_{renderer}_{palette}.png")
            if (renderer, palette) == ("nodes2", "dark"):
                photograph_workers(page)
            page.context.close()
        browser.close()


def photograph_workers(page: Page) -> None:
    """A search while two workers score schedules for it."""
    search = with_workers(page, evaluations=200, prompts=8, study="two workers")
    page.evaluate("""search => {
      const { pos, size } = app.rootGraph.getNodeById(search);
      app.canvas.ds.scale = 0.7;
      app.canvas.ds.offset = [300 - pos[0], 320 - pos[1]]; // below the page's own bar
      app.rootGraph.getNodeById(search).setSize([size[0], 690]);
      app.api.addEventListener("golden_path.search", ({ detail }) => {
        window.gphIsReady = detail.scored > 20 && detail.workers.every(row => row.rate > 0);
      });
      app.queuePrompt(0, 1);
    }""", search)  # fmt: skip
    page.wait_for_function("window.gphIsReady", timeout=600_000)
    workers = page.evaluate("app.rootGraph.nodes.find(n => n.type === 'GPH_SearchWorkers').id")
    photograph(page, (search, workers), IMAGES / "workers.png")
    page.evaluate("app.api.interrupt()")


def edited_demo(seed: int) -> dict:
    """The demo workflow with an editor beside its cache; another seed runs anew."""
    workflow = example("01_Try_It_on_the_Demo_Model")
    cache = next(n for n in workflow["nodes"] if n["id"] == CACHE)
    sampler = next(n for n in workflow["nodes"] if n["type"] == "KSampler")
    sampler["widgets_values"][0] = seed
    cache["widgets_values"][0] = "Custom"
    slot = next(n for n, i in enumerate(cache["inputs"]) if i["name"] == "schedule")
    cache["inputs"][slot]["link"] = EDITOR
    left, top = cache["pos"]
    for other in workflow["nodes"]:
        if other["pos"][0] >= left:
            other["pos"][0] += SIZE[0] + 60
    workflow["nodes"].append(node(SCHEDULES[50], EDITOR, (left, top), link=EDITOR))
    workflow["links"].append([EDITOR, EDITOR, 0, CACHE, slot, "GPH_SCHEDULE"])
    return workflow


def photograph(page: Page, node_ids: tuple[int, ...], file: Path) -> None:
    """A picture of some nodes, at rest."""
    page.evaluate("() => app.canvas.deselectAll()")
    page.mouse.move(5, 500)
    page.wait_for_timeout(700)  # focus, hover and animations fade
    two_frames(page)
    box = page.evaluate(
        """ids => {
          const rects = ids.map(id => app.canvas.graph.getNodeById(id).boundingRect);
          const { scale, offset } = app.canvas.ds;
          const { left, top } = app.canvas.canvas.getBoundingClientRect();
          const [x, y] = [0, 1].map(axis => Math.min(...rects.map(r => r[axis])));
          const [right, bottom] = [0, 1].map(
            axis => Math.max(...rects.map(r => r[axis] + r[axis + 2])));
          return {
            x: left + (x + offset[0]) * scale, y: top + (y + offset[1]) * scale,
            width: (right - x) * scale, height: (bottom - y) * scale,
          };
        }""",
        list(node_ids),
    )
    clip = {"x": box["x"] - MARGIN, "y": box["y"] - MARGIN}
    clip |= {side: box[side] + 2 * MARGIN for side in ("width", "height")}
    page.screenshot(path=file, clip=clip)
    print(f"wrote {file.name} ({file.stat().st_size // 1024} KiB)")


if __name__ == "__main__":
    main()

"""Photograph the example workflows for ComfyUI's template list: python dev.py examples"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import urllib.request
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import dev
from demo import examples

from .conftest import CHROMIUM, FLAGS, SETTINGS
from .page import READY, load, run, two_frames

VIEWPORT = {"width": 1540, "height": 1000}
CLIP = {"x": 130, "y": 120, "width": 960, "height": 720}  # free of bars, tools and messages
SIZE = (640, 480)
# Which folder each loader lists: the page marks nodes whose file is missing.
LOADERS = {
    "UNETLoader": "diffusion_models",
    "CLIPLoader": "text_encoders",
    "DualCLIPLoader": "text_encoders",
    "VAELoader": "vae",
    "LoraLoaderModelOnly": "loras",
    "LatentUpscaleModelLoader": "latent_upscale_models",
}

# Open the subgraph that has the cache, if one has.
ENTER = """() => {
  const graphs = [app.rootGraph, ...app.rootGraph.nodes.map(n => n.subgraph).filter(Boolean)];
  const graph = graphs.find(g => g.nodes.some(n => n.type === "GPH_Cache"));
  if (graph && graph !== app.rootGraph) app.canvas.setGraph(graph);
}"""
# All of the graph if that is readable, else a search and its result, where a run is sensitive, or
# what is around the cache.
SHOW = """clip => {
  const graph = app.canvas.graph;
  const of = kind => graph.nodes.filter(n => kind.test(n.type)).map(n => n.boundingRect);
  const search = of(/^GPH_ScheduleSearch$/);
  const inside = of(/^GPH_(PropagationGain|PlanSchedule|ScheduleEditor)$/);
  const chosen = search.length ? [...search, ...of(/^Preview/)]
    : inside.length ? inside : of(/^GPH_Cache$/);
  const all = of(/./);
  const span = (boxes, axis) => [
    Math.min(...boxes.map(b => b[axis])), Math.max(...boxes.map(b => b[axis] + b[axis + 2]))];
  const fit = 0.96 * Math.min(...[0, 1].map(axis => {
    const [from, to] = span(all, axis);
    return [clip.width, clip.height][axis] / (to - from);
  }));
  const scale = fit < 0.5 ? 0.6 : Math.min(fit, 1);
  const boxes = fit < 0.5 ? chosen : all;
  const offset = [0, 1].map(axis => {
    const [from, to] = span(boxes, axis);
    const middle = [clip.x + clip.width / 2, clip.y + clip.height / 2][axis];
    const bounds = app.canvas.canvas.getBoundingClientRect();
    return (middle - [bounds.left, bounds.top][axis]) / scale - (from + to) / 2;
  });
  app.canvas.ds.scale = scale;
  app.canvas.ds.offset = offset;
  app.canvas.setDirty(true, true);
}"""


def main() -> None:
    names = sorted(file.stem for file in examples.FOLDER.glob("*.json"))
    tools = dev.Tools(Path(os.environ["COMFYUI_PATH"]), Path(sys.executable))
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        arguments = pretend_models(Path(temporary), names)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        with dev.server(tools, ["--cpu", *arguments], threads=1) as running:
            page = opened(browser, running.url, {"Comfy.VueNodes.Enabled": False})
            for name in names:
                photograph(page, name, examples.FOLDER / f"{name}.jpg")
        browser.close()


def pretend_models(folder: Path, names: list[str]) -> list[str]:
    """Empty files under the models' names; returns the server's arguments that list them."""
    for name in names:
        workflow = examples.read(examples.FOLDER / f"{name}.json")
        for graph in examples.graphs(workflow):
            for node in graph["nodes"]:
                for value in node.get("widgets_values") or []:
                    if node["type"] in LOADERS and str(value).endswith(".safetensors"):
                        file = folder / LOADERS[node["type"]] / value
                        file.parent.mkdir(exist_ok=True)
                        file.touch()
    lines = "".join(f"  {kind}: {kind}\n" for kind in set(LOADERS.values()))
    paths = folder / "paths.yaml"
    paths.write_text(f"pretended:\n  base_path: {folder.as_posix()}\n{lines}", "utf-8")
    return ["--extra-model-paths-config", str(paths)]


def opened(browser, url: str, settings: dict) -> Page:
    """The page with these settings, in twice the resolution."""
    settings = SETTINGS | {"LiteGraph.Canvas.MinFontSizeForLOD": 0} | settings
    body = json.dumps(settings).encode()
    headers = {"Content-Type": "application/json"}
    dev.LOCAL.open(urllib.request.Request(f"{url}/api/settings", body, headers)).close()
    page = browser.new_context(viewport=VIEWPORT, device_scale_factor=2).new_page()
    page.goto(url)
    page.wait_for_function(READY, timeout=60_000)
    return page


def photograph(page: Page, name: str, file: Path) -> None:
    workflow = examples.read(examples.FOLDER / f"{name}.json")
    load(page, workflow)
    if any(node["type"] == "GPH_DemoModel" for node in workflow["nodes"]):
        outcome = run(page)
        if outcome != "execution_success":
            raise RuntimeError(f"{name} did not run: {outcome}")
    page.evaluate(ENTER)
    page.wait_for_timeout(1500)  # the page fits a graph that it enters, some time later
    page.evaluate(SHOW, CLIP)
    page.wait_for_timeout(1000)  # texts over the canvas follow later
    two_frames(page)
    picture = Image.open(io.BytesIO(page.screenshot(clip=CLIP))).convert("RGB")
    picture.resize(SIZE, Image.Resampling.LANCZOS).save(file, quality=80)
    print(f"wrote {file.name} ({file.stat().st_size // 1024} KiB)")


if __name__ == "__main__":
    main()

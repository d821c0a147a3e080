"""Draw the pictures of ComfyUI's template list: python dev.py examples

Each shows what its workflow made here, above the steps of its run: tall ones are full, low ones
cached. Nobody ran the released models here: their pictures have the model's name instead.
"""

from __future__ import annotations

import io
import math
import os
import sys
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps
from playwright.sync_api import Page, sync_playwright

import dev
from demo import examples, run
from demo.examples import compare, experts, inside, released, search, video
from demo.subjects import IMAGES, VIDEOS, Subject
from gph_core.paths.conditions import Conditions
from gph_core.paths.without_path import choose_without_path
from gph_core.policies.extrapolation import Reuse
from gph_core.schedule import Schedule

from .conftest import CHROMIUM, FLAGS
from .page import READY, SETTINGS, load, set_up
from .page import run as queue

VIEWPORT = {"width": 1540, "height": 1000}
SIZE = WIDTH, HEIGHT = (640, 480)
BAND, MARGIN, STRIP, TEXT, NAME = 84, 14, 36, 22, 64  # pixels
BACKGROUND, FULL, CACHED, WORDS = "#202020", "#3b9cf0", "#8a8a8a", "#f0f0f0"
# Shift of the noise levels that each workflow samples on, its guidance, and whether the sampler is
# another one than euler. All of them use the scheduler *simple*, or one with its levels.
SAMPLED = {
    "03_Speed_Up_FLUX.1-dev": (math.exp(1.15), 3.5, False),
    "04_Speed_Up_FLUX.2": (9.01, 3.5, False),  # Flux2Scheduler at 20 steps and 1024 x 1024
    "10_Speed_Up_HunyuanVideo_1.5": (7.0, 6.0, False),
    "06_Speed_Up_Qwen-Image-Edit": (3.1, 4.0, False),
    "05_Speed_Up_Qwen-Image": (3.1, 4.0, False),
    "08_Speed_Up_Wan_2.1": (8.0, 6.0, True),
    "09_Speed_Up_Wan_2.2_Two_Experts": (5.0, 3.5, False),
    "07_Speed_Up_Z-Image": (3.0, 4.0, True),
    "17_Speed_Up_Z-Image-Turbo": (3.0, 1.0, True),
}


def main(names: Sequence[str]) -> None:
    """Draw the pictures of some workflows, or of all."""

    def is_wanted(name: str) -> bool:
        return name in names or not names

    for example in filter(lambda example: is_wanted(example.name), examples.EXAMPLES):
        write(example.name, named(example.model, schedules_of(example)))
    tools = dev.Tools(Path(os.environ["COMFYUI_PATH"]), Path(sys.executable))
    with sync_playwright() as playwright, dev.server(tools, ["--cpu"], threads=1) as running:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = opened(browser, running.url, {"Comfy.VueNodes.Enabled": False})
        for name, draw in filter(lambda row: is_wanted(row[0]), DEMO.items()):
            load(page, examples.read(examples.FOLDER / f"{name}.json"))
            if (outcome := queue(page)) != "execution_success":
                raise RuntimeError(f"{name} did not run: {outcome}")
            write(name, draw(page, running.url))
        browser.close()


# --- what is shown ----------------------------------------------------------------------------


def named(model: str, schedules: Sequence[Schedule]) -> Image.Image:
    """The model's name above the steps of its samplers."""
    picture = Image.new("RGB", (WIDTH, HEIGHT - BAND), BACKGROUND)
    draw = ImageDraw.Draw(picture)
    middle = (WIDTH / 2, picture.height / 2)
    draw.text(middle, model, WORDS, ImageFont.load_default(NAME), anchor="mm")
    return card(picture, schedules)


def schedules_of(example: released.Released) -> list[Schedule]:
    """Its own schedule, or that of each sampler: no published path has its noise levels."""
    if example.schedule:
        return [Schedule.parse(example.schedule)]
    (shift, guidance, is_multistep), parts = SAMPLED[example.name], example.experts
    total = parts * example.steps
    times = [1 - n / total for n in range(total + 1)]
    levels = [shift * t / (1 + (shift - 1) * t) for t in times]
    spans = [levels[n * example.steps : (n + 1) * example.steps + 1] for n in range(parts)]
    runs = [
        Conditions(
            None, {}, span, Reuse(), guidance=guidance, halfway=shift / (1 + shift),
            is_multistep=is_multistep, is_free=True,
        )
        for span in spans
    ]  # fmt: skip
    return [choose_without_path(run, example.full).schedule for run in runs]


def halves(page: Page, url: str) -> Image.Image:
    """The full run's image on the left of a line, the cached run's on its right."""
    ((full, cached),) = compared(page, url)
    middle = full.width // 2
    full.paste(cached.crop((middle, 0, *cached.size)), (middle, 0))
    picture = enlarged(full, HEIGHT - BAND)
    middle = picture.width // 2
    ImageDraw.Draw(picture).line((middle, 0, middle, picture.height), "white", 3)
    return card(picture, balanced(IMAGES))


def clip(page: Page, url: str) -> Image.Image:
    """Every fourth frame of the full run, and those of the cached one below them."""
    return sheet_of(compared(page, url)[::4], balanced(VIDEOS))


def clip_of_experts(page: Page, url: str) -> Image.Image:
    """A clip of two experts, as ``clip`` shows one."""
    return sheet_of(compared(page, url)[::4], [Schedule.parse(experts.SCHEDULE)])


def sheet_of(
    columns: Sequence[tuple[Image.Image, Image.Image]], schedules: Sequence[Schedule]
) -> Image.Image:
    """Two rows of images above the steps of a run."""
    side = WIDTH // len(columns)
    sheet = Image.new("RGB", (WIDTH, 2 * side), BACKGROUND)
    for column, images in enumerate(columns):
        for row, image in enumerate(images):
            sheet.paste(enlarged(image, side), (column * side, row * side))
    return card(sheet, schedules)


def first(page: Page, url: str) -> Image.Image:
    """The first figure of an analysis."""
    images = page.evaluate("Object.values(app.nodeOutputs).flatMap(o => o.images ?? [])")
    return card(view(url, images[0]))


DEMO = {
    examples.TRY: halves,
    compare.NAME: first,
    search.NAME: first,
    video.NAME: clip,
    experts.NAME: clip_of_experts,
    **{example.name: first for example in inside.EXAMPLES},
}


def balanced(subject: Subject) -> list[Schedule]:
    """Schedule of one of the demo's models at 50 steps with the speed *Balanced*."""
    return [
        next(
            row.schedule
            for group in run.plan(50, subject)
            for row in group
            if row.speed == "Balanced"
        )
    ]


def compared(page: Page, url: str) -> list[tuple[Image.Image, Image.Image]]:
    """The pictures that *Quality Compare* shows: reference and test of each image."""
    (shown,) = page.evaluate("Object.values(app.nodeOutputs).flatMap(o => o.gph_quality ?? [])")
    (report,) = shown["parts"]
    found = []
    for files in report["pictures"]["files"]:
        place = {"subfolder": report["pictures"]["subfolder"], "type": "temp"}
        full, cached = (view(url, place | {"filename": files[k]}) for k in ("reference", "test"))
        found.append((full, cached))
    return found


def view(url: str, image: dict) -> Image.Image:
    with dev.LOCAL.open(f"{url}/view?{urllib.parse.urlencode(image)}") as answer:
        return Image.open(io.BytesIO(answer.read())).convert("RGB")


# --- how it is drawn --------------------------------------------------------------------------


def enlarged(image: Image.Image, height: int) -> Image.Image:
    """An image whose pixels stay squares."""
    width = round(image.width * height / image.height)
    return image.resize((width, height), Image.Resampling.NEAREST)


def card(picture: Image.Image, schedules: Sequence[Schedule] = ()) -> Image.Image:
    """A picture above the steps of its samplers; without any, the picture alone."""
    sheet = Image.new("RGB", SIZE, BACKGROUND)
    room = (WIDTH, HEIGHT - BAND if schedules else HEIGHT)
    picture = ImageOps.contain(picture, room, Image.Resampling.LANCZOS)
    sheet.paste(picture, ((room[0] - picture.width) // 2, (room[1] - picture.height) // 2))
    if schedules:
        steps = "".join(schedule.bits for schedule in schedules)  # 1 is cached
        words = f"{steps.count('0')} of {len(steps)} steps computed in full"
        draw_steps(ImageDraw.Draw(sheet), steps, words)
    return sheet


def draw_steps(draw: ImageDraw.ImageDraw, steps: str, words: str) -> None:
    """A bar for each step, and words below."""
    top, wide = HEIGHT - BAND + 8, (WIDTH - 2 * MARGIN) / len(steps)
    for n, step in enumerate(steps):
        left, right = (round(MARGIN + (n + edge) * wide) for edge in (0, 1))
        height, color = (STRIP, FULL) if step == "0" else (STRIP // 4, CACHED)
        draw.rectangle((left, top + STRIP - height, right - 3, top + STRIP), color)
    font = ImageFont.load_default(TEXT)
    draw.text((WIDTH / 2, top + STRIP + 6), words, WORDS, font, anchor="ma")


def write(name: str, picture: Image.Image) -> None:
    file = examples.FOLDER / f"{name}.jpg"
    picture.save(file, quality=80)
    print(f"wrote {file.name} ({file.stat().st_size // 1024} KiB)")


def opened(browser, url: str, settings: dict) -> Page:
    """The page with these settings, in twice the resolution."""
    settings = SETTINGS | {"LiteGraph.Canvas.MinFontSizeForLOD": 0} | settings
    set_up(url, settings)
    page = browser.new_context(viewport=VIEWPORT, device_scale_factor=2).new_page()
    page.goto(url)
    page.wait_for_function(READY, timeout=60_000)
    return page


if __name__ == "__main__":
    main(sys.argv[1:])

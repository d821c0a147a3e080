"""Quality Compare plays the frames of two videos in step: web/quality/clip_player.js."""

import itertools

import pytest

from .page import added, connect, load, named, run, workflow_of
from .quality import panel

# Colours of the frames. A picture tells its frame: the test's has half the red of the reference's.
FRAMES = [0x200000, 0x600000, 0xA00000, 0xE00000]


@pytest.fixture(scope="module")
def clips(page):
    """The panel of Quality Compare with two videos of four frames."""
    load(page, named(page, workflow_of()))
    compare = added(page, "GPH_QualityCompare", (500, 0), video=True)
    for name, part in (("reference", 1), ("test", 0.5)):
        connect(page, clip(page, part), 0, compare, name)
    assert run(page) == "execution_success"
    element = panel(page, compare)
    page.wait_for_function(
        "panel => [...panel.querySelectorAll('img')].every(picture => picture.naturalWidth)",
        arg=element,
    )
    return element


def clip(page, part):
    """The node of a batch whose images have a part of the colours."""
    whole = None
    for color in FRAMES:
        red = int(color * part) & 0xFF0000
        frame = added(page, "EmptyImage", width=48, height=32, batch_size=1, color=red)
        if whole is None:
            whole = frame
            continue
        batch = added(page, "ImageBatch")
        connect(page, whole, 0, batch, "image1")
        connect(page, frame, 0, batch, "image2")
        whole = batch
    return whole


# The colours of both pictures each time that one has changed; so many, or those of ten seconds.
WATCH = """(panel, count) => new Promise(done => {
  const pictures = [...panel.querySelectorAll(".gph-picture")].slice(0, 2);
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const seen = [];
  const end = performance.now() + 10000;
  const look = () => {
    const reds = pictures.map(picture => {
      canvas.drawImage(picture, 0, 0, 1, 1);
      return canvas.getImageData(0, 0, 1, 1).data[0];
    });
    const last = seen.at(-1);
    if (!last || reds.some((red, n) => red !== last[n])) seen.push(reds);
    if (seen.length < count && performance.now() < end) requestAnimationFrame(look);
    else done(seen);
  };
  look();
})"""


def test_both_clips_play_in_step_again_and_again(page, clips):
    assert clips.query_selector("[data-mode=beside]")  # reference, test and difference
    lefts = [picture.bounding_box()["x"] for picture in clips.query_selector_all(".gph-picture")]
    assert lefts == sorted(set(lefts))
    curve = clips.query_selector(".gph-frames svg")
    assert curve.get_attribute("aria-label").startswith("PSNR of 4 frames")
    play = clips.query_selector("button:text('▶')")
    play.click()
    seen = clips.evaluate(WATCH, 2 * len(FRAMES) + 2)
    whole = [color >> 16 for color in FRAMES]
    assert all(test == reference // 2 for reference, test in seen)
    frames = [whole.index(reference) for reference, _ in seen]
    steps = [(b - a) % len(FRAMES) for a, b in itertools.pairwise(frames)]
    assert len(steps) > len(FRAMES)  # more than once around
    assert steps.count(1) > 0.7 * len(steps)  # a busy machine may not have drawn each

    play.click()
    before = clips.query_selector(".gph-number").inner_text()
    page.wait_for_timeout(300)
    assert clips.query_selector(".gph-number").inner_text() == before


def test_a_click_on_the_curve_goes_to_a_frame_and_the_space_bar_plays(page, clips):
    box = clips.query_selector(".gph-frames svg").bounding_box()
    page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2)
    assert clips.query_selector(".gph-number").inner_text() == "3 / 4"
    clips.query_selector(".gph-stage").focus()
    page.keyboard.press(" ")
    assert clips.query_selector("button:text('❚❚')")
    page.wait_for_function(
        "panel => panel.querySelector('.gph-number').innerText !== '3 / 4'", arg=clips
    )
    page.keyboard.press("PageUp")  # who chooses a frame wants to look at it
    assert clips.query_selector("button:text('▶')")
    page.keyboard.press("s")
    assert clips.query_selector("[data-mode=slider]")

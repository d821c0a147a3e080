"""Every text of the pack can be read: 4.5:1 by WCAG, over whatever its style sheets put it on.

The colours are those of the style sheets, resolved by the browser, on nodes of all colours that
ComfyUI offers, and on popups.
"""

from pathlib import Path

import pytest

from .editor import Editor
from .page import two_frames

CONTRAST = Path(__file__).with_name("contrast.js").read_text("utf-8")


@pytest.mark.both_pages
@pytest.mark.parametrize("palette", ["dark", "light"])
def test_all_texts_of_the_style_sheets_can_be_read(page, palette):
    Editor.open(page, "0/4")  # brings the style sheets
    page.evaluate("p => app.extensionManager.setting.set('Comfy.ColorPalette', p)", palette)
    try:
        two_frames(page)
        measured = page.evaluate(CONTRAST)
    finally:
        page.evaluate("app.extensionManager.setting.set('Comfy.ColorPalette', 'dark')")
    assert measured["found"] == {}
    assert measured["pairs"] > 300


def test_a_bad_pair_is_found(page):
    Editor.open(page, "0/4")
    rule = page.evaluate_handle("""() => {
      const { sheet } = document.querySelector("link[href$='/golden_path.css']");
      sheet.insertRule(".gph-new { color: #999; background: #653; }", sheet.cssRules.length);
      return sheet;
    }""")
    try:
        found = page.evaluate(CONTRAST)["found"]
    finally:
        rule.evaluate("sheet => sheet.deleteRule(sheet.cssRules.length - 1)")
    # By hand: #999 has the luminance 0.3185, #653 0.0956; 0.3685 / 0.1456.
    assert set(found.values()) == {"2.53"}

"""The card on Golden Path Library: web/library/library.js."""

from .page import load, view, workflow_of

FIRST, SECOND = "FLUX.1-dev, 9 of 50, PSNR, hill climbing", "Z-Image, 13 of 50, MeanCache preset"


def node(path):
    return {
        "id": 1, "type": "GPH_GoldenPathLibrary", "pos": [0, 0], "size": [400, 300], "flags": {},
        "order": 0, "mode": 0, "properties": {}, "widgets_values": [path],
    }  # fmt: skip


def wait_for_card(page, words):
    page.wait_for_function(
        "([card, words]) => card.innerText.includes(words)",
        arg=[view(page, 1, "golden_path_card"), words],
    )


def test_the_card_tells_what_is_known_of_the_chosen_path(page):
    load(page, workflow_of(node(FIRST)))
    wait_for_card(page, f"{FIRST}\n")
    page.evaluate(
        """value => {
          const widget = app.rootGraph.getNodeById(1).widgets[0];
          widget.value = value;
          widget.callback(value);
        }""",
        SECOND,
    )
    wait_for_card(page, f"{SECOND}\n")


def test_the_card_of_a_path_that_is_gone_says_so(page):
    load(page, workflow_of(node("yours: gone")))
    wait_for_card(page, "'gone'")

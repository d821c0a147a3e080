"""Policy Selector, of web/policy, shows what the policy needs and keeps what a workflow says."""

import pytest

from .editor import prompt, serialized
from .page import load, opened, set_widget, two_frames, view, workflow_of

OTHERS = ["order", "scale", "span", "weights", "differences", "max_amplification", "max_distance",
          "path"]  # fmt: skip
# As a workflow of the first version has it: a value for each input, of whatever policy.
VALUES = ["Hermite", 2, 0.7, 3, "mine.safetensors", "divided", 8.0, 5, "none"]


def node(values):
    return {
        "id": 1, "type": "GPH_PolicySelector", "pos": [0, 0], "size": [320, 330], "flags": {},
        "order": 0, "mode": 0, "properties": {}, "widgets_values": values,
        "outputs": [{"name": "policy", "type": "GPH_POLICY", "links": None}],
    }  # fmt: skip


def shown(page, renderer):
    """The names of the inputs that are in sight, but for the policy's own."""
    two_frames(page)
    if renderer == "vue":
        text = page.locator('.lg-node[data-node-id="1"]').inner_text().split()
        return [name for name in OTHERS if name in text]
    return page.evaluate(
        """names => {
          const node = app.rootGraph.getNodeById(1);
          return names.filter(name =>
            node.isWidgetVisible(node.widgets.find(widget => widget.name === name)));
        }""",
        OTHERS,
    )


def advice(page):
    return page.locator('[data-testid="gph-policy"]').inner_text()


@pytest.mark.both_pages
@pytest.mark.parametrize("values", [VALUES, VALUES[:4]], ids=["all values", "older"])
def test_the_inputs_of_the_chosen_policy_are_in_sight_and_the_values_of_all_are_kept(
    page, renderer, values
):
    load(page, workflow_of(node(values)))
    extrapolation = ["differences", "max_amplification", "max_distance"]
    assert shown(page, renderer) == ["order", "scale", *extrapolation]
    assert "long gaps still ruin the picture" in advice(page)
    set_widget(page, 1, "policy", "token prediction (DPCache)")
    assert shown(page, renderer) == extrapolation
    assert "9 of 50 only 17 dB" in advice(page)
    set_widget(page, 1, "policy", "residual reuse")
    assert shown(page, renderer) == []
    assert "errors do not grow" in advice(page)
    saved = serialized(page)["widgets_values"]
    assert saved[1 : len(values)] == values[1:]
    inputs = prompt(page)["1"]["inputs"]
    assert [inputs[name] for name in OTHERS] == saved[1:]


@pytest.mark.both_pages
def test_an_error_of_the_selector_can_be_read_to_its_end(page):
    opened(page, "GPH_PolicySelector")
    words = "the weights were fitted for another model, and this run cannot have them. " * 8
    listed = {
        "node_errors": {"1": {"errors": [{"type": "custom", "message": words, "details": ""}]}}
    }
    page.route(
        "**/api/prompt",
        lambda route: route.fulfill(
            status=400,
            json={
                "error": {"type": "x", "message": "no", "details": "", "extra_info": {}},
                **listed,
            },
        ),
    )
    try:
        page.evaluate("app.queuePrompt(0, 1).catch(() => {})")
        failure = view(page, 1, "golden_path_failure").query_selector(".gph-failure")
        two_frames(page)
        assert failure.inner_text() == words.strip()
        assert failure.evaluate("e => e.scrollHeight <= e.clientHeight")
    finally:
        page.unroute("**/api/prompt")
        page.keyboard.press("Escape")
        page.evaluate("app.extensionManager.lastNodeErrors = null")

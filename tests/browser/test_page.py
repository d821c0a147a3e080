"""The pack arrives on the page: the server's part is nodes/page."""

import pytest

from .page import example, load


@pytest.mark.both_pages
def test_the_bundled_workflow_opens_whole(page):
    load(page, example("01_Try_It_on_the_Demo_Model", whole=True))
    types = page.evaluate("app.rootGraph.nodes.filter(n => !n.has_errors).map(n => n.type)")
    assert sorted(types) == [
        "EmptyLatentImage", "GPH_Cache", "GPH_DemoModel", "GPH_DemoPrompt", "GPH_DemoPrompt",
        "GPH_QualityCompare", "ImageScale", "KSampler", "KSampler", "MarkdownNote", "SaveImage",
        "VAEDecode", "VAEDecode",
    ]  # fmt: skip
    assert page.locator("[role=dialog]").count() == 0


@pytest.mark.both_pages
def test_the_renderer_is_the_one_asked_for(page, renderer):
    assert page.evaluate("LiteGraph.vueNodesMode") == (renderer == "vue")

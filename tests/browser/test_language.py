"""The pack speaks the language of the page: locales and web/shared/strings.js.

The Chinese page also shows that a template opens from a link: a page takes seconds to load.
"""

import pytest

from .editor import Editor
from .page import READY, TRY, set_up


@pytest.fixture
def chinese_page(page, url):
    """Another tab, in Chinese, opened with a template."""
    set_up(url, {"Comfy.Locale": "zh"})
    tab = page.context.new_page()
    tab.goto(f"{url}/?template={TRY}&source=ComfyUI-GoldenPath")
    tab.wait_for_function(READY, timeout=60_000)
    yield tab
    tab.close()
    set_up(url, {"Comfy.Locale": "en"})


def test_titles_and_inputs_of_a_template_from_a_link_are_chinese(chinese_page):
    chinese_page.wait_for_function("app.rootGraph.nodes.some(n => n.type === 'GPH_Cache')")
    title, labels, category = chinese_page.evaluate("""() => {
      const node = app.rootGraph.nodes.find(n => n.type === "GPH_Cache");
      const labels = node.inputs.map(input => input.localized_name ?? input.label);
      return [node.title, labels, node.constructor.category];
    }""")
    assert title == "黄金路径缓存"
    assert labels[:2] == ["模型", "策略"]
    assert category == "黄金路径"
    assert (
        "10 步中 5 步完整" in Editor.open(chinese_page, "0-2,5,9/10").find("figures").inner_text()
    )


@pytest.mark.long
def test_the_help_is_chinese(chinese_page):
    chinese_page.evaluate("""() => {
      const node = LiteGraph.createNode("GPH_PolicySelector");
      node.pos = [400, 400]; // the button above it is not below the tabs
      app.graph.add(node);
      app.canvas.selectNode(node);
    }""")
    chinese_page.locator('[data-testid="info-button"]').click()
    chinese_page.get_by_role("heading", name="缓存策略选择").first.wait_for()
    chinese_page.get_by_text("重复最近一个完整步中各块所加的量").first.wait_for()

"""The pack speaks the language of the page."""

import json
import urllib.request

import pytest

import dev

from .page import READY


@pytest.fixture
def chinese_page(page, url):
    """Another tab, in Chinese."""
    set_locale(url, "zh")
    tab = page.context.new_page()
    tab.goto(url)
    tab.wait_for_function(READY, timeout=60_000)
    yield tab
    tab.close()
    set_locale(url, "en")


def set_locale(url, locale):
    body = json.dumps({"Comfy.Locale": locale}).encode()
    headers = {"Content-Type": "application/json"}
    dev.LOCAL.open(urllib.request.Request(f"{url}/api/settings", body, headers)).close()


@pytest.mark.one_page("newest")
def test_titles_and_inputs_are_chinese(chinese_page):
    title, labels, category = chinese_page.evaluate("""() => {
      const node = LiteGraph.createNode("GPH_Cache");
      const labels = node.inputs.map(input => input.localized_name ?? input.label);
      return [node.title, labels, node.constructor.category];
    }""")
    assert title == "黄金路径缓存"
    assert labels[:2] == ["模型", "策略"]
    assert category == "黄金路径"


@pytest.mark.long
@pytest.mark.one_page("pinned")
def test_the_help_is_chinese(chinese_page):
    chinese_page.evaluate("""() => {
      const node = LiteGraph.createNode("GPH_PolicySelector");
      app.graph.add(node);
      app.canvas.selectNode(node);
    }""")
    chinese_page.locator('[data-testid="info-button"]').click()
    chinese_page.get_by_role("heading", name="缓存策略选择").first.wait_for()
    chinese_page.get_by_text("重复最近一个完整步中各块所加的量").first.wait_for()

"""Views show what belongs to them: no answer that comes late, nothing of another node or image.

``schedule_editor``, ``report_panel``, ``library``, ``comparison_stage``, ``search`` and ``policy``
of the page.
"""

import pytest

from . import report
from .editor import Editor
from .page import (
    added,
    back_to,
    connect,
    executed,
    load,
    named,
    opened,
    set_widget,
    strip,
    tell,
    two_frames,
    view,
    workflow_of,
)
from .quality import REPORT
from .search import DONE, FACTS, NODE, panel, send


@pytest.fixture
def held(page):
    """Function that holds back the answers of a route, oldest first, until a test gives them."""
    routes = []

    def hold(pattern):
        page.route(pattern, lambda route: routes.append(route))
        return routes

    yield hold
    page.unroute_all(behavior="ignoreErrors")


def until(page, routes, count):
    """Wait for so many requests."""
    for _ in range(100):
        if len(routes) >= count:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{len(routes)} requests")


def connected(page, text):
    """An editor before a cache with a policy; the id of the cache."""
    editor = Editor.open(page, text)
    cache, selector = (
        added(page, "GPH_Cache", [500, 0]),
        added(page, "GPH_PolicySelector", [0, 450]),
    )
    connect(page, editor.id, 0, cache, "schedule")
    connect(page, selector, 0, cache, "policy")
    set_widget(page, cache, "speed", "Custom")
    return editor, cache


def test_an_answer_about_an_earlier_schedule_is_not_shown(page, held):
    routes = held("**/golden_path/check")
    editor, _ = connected(page, "0-3/4")
    until(page, routes, 1)
    page.wait_for_timeout(400)
    before = len(routes)
    editor.type("0/4")
    until(page, routes, before + 1)
    routes[-1].fulfill(json={"error": "of the second"})
    editor.wait_for_message("of the second")
    for route in routes[:-1]:
        route.fulfill(json={"error": "of the first"})
    page.wait_for_timeout(200)
    assert "of the second" in editor.messages
    assert "of the first" not in editor.messages


def tell_run(page, node, run=0):
    """What a run tells of its noise levels."""
    record = report.RECORD | {"schedule": "0-1,3/4", "sigmas": [1, 0.9, 0.7, 0.4, 0]}
    report.send(page, "done", node=node, run=run, record=record)
    two_frames(page)


def test_noise_levels_are_those_of_a_connected_cache(page):
    editor, cache = connected(page, "0-1,3/4")
    page.wait_for_timeout(400)
    tell_run(page, added(page, "GPH_Cache", [500, 500]))
    assert editor.find("source").inner_text() == ""
    tell_run(page, cache)
    assert editor.find("source").inner_text() == "noise: last run"


def test_who_looks_at_an_earlier_run_is_left_there(page):
    opened(page, "GPH_Cache")
    for run in (0, 1):
        tell_run(page, NODE, run)
    shown = report.panel(page, NODE)
    shown.query_selector("[aria-label='Older run']").click()
    for run, count in ((1, 2), (2, 3)):
        tell_run(page, NODE, run)
        assert f"Run 1 of {count}" in shown.inner_text()


def test_a_card_is_that_of_the_path_chosen_last(page, held):
    routes = held("**/golden_path/card*")
    load(page, workflow_of({
        "id": 1, "type": "GPH_GoldenPathLibrary", "pos": [0, 0], "size": [400, 300], "flags": {},
        "order": 0, "mode": 0, "properties": {}, "widgets_values": ["the first"],
    }))  # fmt: skip
    until(page, routes, 1)
    early = list(routes)
    set_widget(page, 1, "path", "the second")
    until(page, routes, len(early) + 1)
    routes[-1].fulfill(json={"card": "the second"})
    card = view(page, 1, "golden_path_card")
    page.wait_for_function("card => card.innerText.includes('the second')", arg=card)
    for route in early:
        route.fulfill(json={"card": "the first"})
    page.wait_for_timeout(200)
    assert card.inner_text() == "the second"


def test_the_heat_map_is_that_of_the_image_that_is_shown(page):
    opened(page, "GPH_QualityCompare")
    executed(page, NODE, {"gph_quality": [{"parts": [REPORT]}]})
    shown = view(page, NODE, "quality_table")
    shown.query_selector("button:text('Difference')").click()
    sources = []
    for key in ("PageDown", "PageUp"):
        sources.append(shown.query_selector("img.gph-difference").get_attribute("src"))
        shown.query_selector(".gph-stage").focus()
        page.keyboard.press(key)
        two_frames(page)
    assert [f"lost_{n}_difference.png" in source for n, source in enumerate(sources)] == [
        True,
        True,
    ]


def test_what_a_search_told_last_is_not_replaced_by_an_older_output(page):
    saved = opened(page, "GPH_ScheduleSearch")
    facts = DONE | {
        "state": "done", "node_id": str(NODE), "prompt_id": "p", "workflow_id": saved["id"],
    }  # fmt: skip
    node = str(NODE)
    output = {"gph_search": [facts]}
    tell(page, "executed", {"node": node, "display_node": node, "prompt_id": "p", "output": output})
    assert len(strip(panel(page))) == 5
    send(page, "searching", FACTS | {"best": "0/2"}, prompt="q")
    load(page, named(page, saved), beside=True)
    back_to(page, saved)
    assert len(strip(panel(page))) == 2


def test_an_input_with_a_wire_stays_in_sight_whatever_the_policy(page, request):
    if "newest" in request.node.name:
        pytest.xfail("the newest front end keeps a hidden input hidden when a wire comes to it")
    load(page, workflow_of())
    selector = added(page, "GPH_PolicySelector", [400, 0])
    number = added(page, "PrimitiveInt", [0, 0])
    connect(page, number, 0, selector, "order")
    set_widget(page, selector, "policy", "residual reuse")
    two_frames(page)
    in_sight = page.evaluate(
        """id => app.rootGraph.getNodeById(id).widgets
          .filter(widget => !widget.hidden && !widget.options.hidden).map(widget => widget.name)""",
        selector,
    )
    assert "order" in in_sight
    assert "scale" not in in_sight

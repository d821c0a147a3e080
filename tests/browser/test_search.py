"""The panel on Schedule Search, of web/search, as the tests send its events."""

import pytest

from .page import back_to, executed, load, named, opened, state, strip, tell, two_frames
from .search import DONE, FACTS, NODE, TABLE, panel, send, status


@pytest.fixture
def workflow(page):
    return opened(page, "GPH_ScheduleSearch")


def end(page, event, prompt="p"):
    """What ComfyUI tells when a prompt ends early."""
    tell(page, event, {"prompt_id": prompt, "node_id": str(NODE)})


def is_idle(element):
    return element.inner_text().startswith("During a run:")


def test_a_search_shows_its_best_schedule_score_speed_and_budget(page, workflow):
    send(page, "searching")
    assert strip(panel(page)) == ["full", "full", "cached", "full", "cached"]
    text = panel(page).inner_text()
    for part in (
        "Searching…", "PSNR: 31.42 dB", "residual reuse", "0-1,3/5", "9 scored", "23 per minute",
        "42 % used",
    ):  # fmt: skip
        assert part in text
    bar = panel(page).query_selector("[role=progressbar]")
    assert bar.get_attribute("aria-valuenow") == "42"
    assert bar.evaluate("b => b.firstChild.offsetWidth / b.offsetWidth") == pytest.approx(
        0.42, abs=0.02
    )


def test_the_curve_goes_up_by_steps_between_its_first_and_last_value(page, workflow):
    send(page, "searching")
    curve = panel(page).query_selector(".gph-search-curve")
    assert curve.inner_text().split("\n") == ["20.00 dB", "31.42 dB"]
    assert curve.query_selector("svg").get_attribute("aria-label") == (
        "PSNR: best over 9 scored schedules, from 20.00 dB to 31.42 dB"
    )
    path = curve.query_selector("path").get_attribute("d").removeprefix("M")
    corners = [tuple(map(float, corner.split())) for corner in path.split("L")]
    # Its corners are tested in tests/web/search_view.test.js; y is turned over.
    assert (corners[0], corners[-1]) == ((0, 1), (1, 0))


def test_kinds_of_steps_differ_by_more_than_colour(page, workflow):
    send(page, "searching")
    full, _, cached, *_ = (
        cell.evaluate("c => c.offsetHeight")
        for cell in panel(page).query_selector_all(".gph-strip .gph-cell")
    )
    assert cached < full


def test_a_search_before_its_first_score_shows_no_figure_that_is_not_known(page, workflow):
    nothing = {"best": None, "policy": None, "score": None, "curve": []}
    nothing |= {"used": 0, "scored": 0, "per_minute": 0}
    send(page, "preparing", FACTS | nothing)
    assert status(panel(page)) == "Preparing…"
    send(page, "preparing", FACTS | nothing | {"part": [3, 8]})
    assert status(panel(page)) == "Full runs: 3 of 8…"
    text = panel(page).inner_text()
    assert "0 % used" in text
    assert "dB" not in text
    assert "per minute" not in text
    assert strip(panel(page)) == []


def test_the_time_left_is_shown_while_it_runs_and_said_to_be_unknown(page, workflow):
    figures = ".gph-search-figures"
    for name, left, shown in (
        ("preparing", None, "time left not known yet"), ("searching", 755, "about 13 min left"),
        ("validating", 20, "about 1 min left"), ("done", None, ""),
    ):  # fmt: skip
        send(page, name, FACTS | {"left": left})
        (said,) = panel(page).query_selector(figures).query_selector_all("span:last-child")[-1:]
        assert said.text_content() == shown
    send(page, "searching", FACTS | {"left": 755})
    end(page, "execution_interrupted")
    assert "left" not in panel(page).query_selector(figures).inner_text()


def test_one_scoring_example_is_warned_of(page, workflow):
    for examples, warned in ((1, True), (2, False)):
        send(page, "searching", FACTS | {"examples": examples})
        assert ("Only one scoring example" in panel(page).inner_text()) is warned


def test_a_finished_search_shows_the_table_which_scrolls_by_itself(page, workflow):
    send(page, "done", DONE)
    table = panel(page).query_selector(".gph-search-result")
    assert table.text_content() == TABLE
    score = panel(page).query_selector(".gph-search-score")
    assert score.text_content() == "PSNR: 31.42 dB on the validation examples"
    rows = table.query_selector(".gph-columns")
    assert "mono" in rows.evaluate("r => getComputedStyle(r).fontFamily")
    scale = page.evaluate("app.canvas.ds.scale")
    table.click()
    page.mouse.wheel(0, 100)
    page.wait_for_function("document.querySelector('.gph-search-result').scrollTop > 50")
    assert page.evaluate("app.canvas.ds.scale") == scale
    assert rows.evaluate("r => r.scrollWidth > r.clientWidth")


def test_workers_show_what_they_do_and_how_fast_while_the_search_runs(page, workflow):
    send(page, "searching")
    rows = panel(page).query_selector(".gph-search-workers")
    size = page.evaluate("[...app.rootGraph.nodes[0].size]")
    assert rows.is_hidden()
    workers = [
        {"worker": 1, "doing": "scoring", "rate": 811.6},
        {"worker": 2, "doing": "loading", "rate": 0},
        *({"worker": n, "doing": "lost", "rate": 0} for n in range(3, 9)),
    ]
    send(page, "searching", FACTS | {"workers": workers})
    texts = [row.text_content() for row in rows.query_selector_all("li")]
    assert texts[:3] == [
        "Worker 1: scoring812 full steps per minute", "Worker 2: starting", "Worker 3: lost",
    ]  # fmt: skip
    assert rows.evaluate("r => r.scrollHeight > r.clientHeight")  # eight do not push others away
    assert page.evaluate("[...app.rootGraph.nodes[0].size]") == size
    send(page, "done", DONE | {"workers": []})
    assert rows.is_hidden()


def test_an_interrupted_search_shows_what_it_reached_and_how_to_go_on(page, workflow):
    send(page, "searching")
    end(page, "execution_interrupted", prompt="another")
    assert status(panel(page)) == "Searching…"
    end(page, "execution_interrupted")
    assert status(panel(page)) == "Stopped"
    assert "Queue again" in panel(page).inner_text()
    assert "PSNR: 31.42 dB" in panel(page).inner_text()
    assert len(strip(panel(page))) == 5
    send(page, "preparing", prompt="q")
    assert status(panel(page)) == "Preparing…"
    assert "Queue again" not in panel(page).inner_text()


def test_a_search_whose_server_was_killed_is_stopped_once_the_next_one_answers(page, workflow):
    send(page, "searching")
    tell(page, "status", None)  # the connection is lost
    tell(page, "status", {"exec_info": {"queue_remaining": 1}})
    assert status(panel(page)) == "Searching…"
    tell(page, "status", {"exec_info": {"queue_remaining": 0}})
    assert status(panel(page)) == "Stopped"


def test_a_search_that_ends_by_an_error_says_so_one_that_is_done_stays_done(page, workflow):
    send(page, "searching")
    end(page, "execution_error")
    assert status(panel(page)) == "Stopped by an error"
    send(page, "done", DONE)
    end(page, "execution_error")  # of a later node
    assert status(panel(page)) == "Done"


def test_an_objective_has_its_unit_and_its_direction(page, workflow):
    for unit, score, text in (
        ("LPIPS", -0.05123, "LPIPS: 0.0512"),
        ("PSNR up to 40 dB", 31, "PSNR up to 40 dB: 31.00 dB"),
    ):
        send(page, "searching", FACTS | {"unit": unit, "score": score})
        shown = panel(page).query_selector(".gph-search-score")
        assert shown.inner_text() == text
        direction = "lower" if score < 0 else "higher"
        assert shown.get_attribute("title").endswith(f"{direction} is better")


def test_events_update_elements_instead_of_adding_any(page, workflow):
    send(page, "searching")
    elements = "e => [...e.querySelectorAll('*')]"
    before = panel(page).evaluate_handle(elements)
    for scored in range(10, 60):
        point = [[scored, 31.5 + scored]]
        send(page, "searching", FACTS | {"scored": scored, "curve": FACTS["curve"] + point})
    assert panel(page).evaluate(
        f"(e, before) => ({elements})(e).every((x, n) => x === before[n])", before
    )


def test_an_output_of_the_node_is_shown_and_goes_to_its_own_workflow(page, workflow):
    facts = DONE | {"state": "done", "node_id": str(NODE), "prompt_id": "p"}
    executed(page, NODE, {"gph_search": [facts | {"workflow_id": "another"}]})
    assert is_idle(panel(page))
    executed(page, NODE, {"gph_search": [facts | {"workflow_id": workflow["id"]}]})
    assert status(panel(page)) == "Done"
    assert panel(page).query_selector(".gph-search-result").text_content() == TABLE


def test_what_is_no_search_is_not_shown(page, workflow):
    for output in (None, {}, {"gph_search": "text"}, {"gph_search": [None, 3, {"state": "odd"}]}):
        executed(page, NODE, output)
    send(page, "dancing")
    assert is_idle(panel(page))


def test_no_event_resizes_the_node(page, workflow):
    before = state(page)
    height = panel(page).bounding_box()["height"]
    long = FACTS | {"best": f"{','.join(str(n) for n in range(0, 200, 2))}/200"}
    short = FACTS | {"best": "0/2"}
    for name, facts in (("preparing", short), ("searching", long), ("done", long | DONE)):
        send(page, name, facts)
        two_frames(page)
        two_frames(page)
        assert panel(page).bounding_box()["height"] == pytest.approx(height, abs=0.5)
        assert state(page) == before


@pytest.mark.both_pages
def test_a_higher_node_gives_its_height_to_the_table_and_takes_it_back(page, workflow):
    send(page, "done", DONE)
    heights = []
    for more in (0, 150, -150):
        page.evaluate(
            """([id, more]) => {
              const node = app.rootGraph.getNodeById(id);
              node.setSize([node.size[0], node.size[1] + more]);
              node.setDirtyCanvas(true, true);
            }""",
            [NODE, more],
        )
        two_frames(page)
        two_frames(page)
        table = panel(page).query_selector(".gph-search-result")
        heights.append(table.bounding_box()["height"])
    assert heights[1] > heights[0] + 100
    assert heights[2] == pytest.approx(heights[0], abs=1)


def test_a_search_that_is_interrupted_in_another_tab_is_stopped_in_its_own(page, workflow):
    send(page, "searching")
    load(page, named(page, workflow), beside=True)
    end(page, "execution_interrupted")
    assert is_idle(panel(page))
    back_to(page, workflow)
    assert status(panel(page)) == "Stopped"

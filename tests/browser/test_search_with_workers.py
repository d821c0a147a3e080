"""*Search a golden path* with two real workers, from the page."""

import uuid

import pytest

from .page import run
from .search import panel, status, with_workers

pytestmark = [pytest.mark.long, pytest.mark.one_page("newest", "vue")]
EVALUATIONS = 6


def test_a_search_with_workers_is_cancelled_and_goes_on(page):
    node = with_workers(page, EVALUATIONS, prompts=4, study=f"test {uuid.uuid4().hex}")
    page.evaluate("""() => {
      window.gphEvents = [];
      app.api.addEventListener("golden_path.search", function heard(event) {
        gphEvents.push(structuredClone(event.detail));
        if (event.detail.scored < 2) return;
        app.api.removeEventListener("golden_path.search", heard);
        app.api.interrupt();
      });
    }""")
    assert run(page) == "execution_interrupted"
    assert status(panel(page, node)) == "Stopped"
    assert panel(page, node).query_selector(".gph-search-workers").is_hidden()
    rows = [row for event in page.evaluate("gphEvents") for row in event["workers"]]
    assert {row["worker"] for row in rows} == {1, 2}
    assert {"loading", "references", "fitting"} <= {row["doing"] for row in rows}
    assert max(row["rate"] for row in rows) > 0

    page.evaluate("""() => {
      gphEvents.length = 0;
      app.api.addEventListener("golden_path.search",
        ({ detail }) => gphEvents.push(structuredClone(detail)));
    }""")
    assert run(page) == "execution_success"
    *_, last = page.evaluate("gphEvents")
    assert (last["state"], last["scored"], last["workers"]) == ("done", EVALUATIONS, [])
    assert status(panel(page, node)) == "Done"

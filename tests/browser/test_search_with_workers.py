"""*Search a golden path* with two real workers, from the page."""

import uuid

import pytest

from .page import heard, interrupt_when, listen, run
from .search import panel, status, with_workers

pytestmark = [pytest.mark.long, pytest.mark.one_page("newest")]
EVALUATIONS = 6


def test_a_search_with_workers_is_cancelled_and_goes_on(page):
    node = with_workers(page, EVALUATIONS, prompts=4, study=f"test {uuid.uuid4().hex}")
    listen(page, "golden_path.search")
    interrupt_when(page, "golden_path.search", "detail.scored >= 2")
    assert run(page) == "execution_interrupted"
    assert status(panel(page, node)) == "Stopped"
    assert panel(page, node).query_selector(".gph-search-workers").is_hidden()
    rows = [row for event in heard(page, "golden_path.search") for row in event["workers"]]
    assert {row["worker"] for row in rows} == {1, 2}
    assert {"loading", "references", "fitting"} <= {row["doing"] for row in rows}
    assert max(row["rate"] for row in rows) > 0

    listen(page, "golden_path.search")
    assert run(page) == "execution_success"
    *_, last = heard(page, "golden_path.search")
    assert (last["state"], last["scored"], last["workers"]) == ("done", EVALUATIONS, [])
    assert status(panel(page, node)) == "Done"

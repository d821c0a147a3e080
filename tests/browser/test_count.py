"""The number of full steps beside a speed: typing it chooses it, loading a workflow does not."""

import json

import pytest

from .page import load, two_frames
from .search import opened

WIDGET = "app.rootGraph.nodes[0].widgets.find(widget => widget.name === name)"


def value(page, name):
    return page.evaluate(f"name => {WIDGET}.value", name)


@pytest.mark.parametrize("kind", ["GPH_ScheduleSearch", "GPH_PlanSchedule"])
def test_a_number_that_is_typed_takes_the_place_of_the_speed(page, kind):
    opened(page, kind)
    page.evaluate(f"name => {{ {WIDGET}.value = 12; }}", "full_steps")
    saved = json.loads(page.evaluate("JSON.stringify(app.rootGraph.serialize())"))
    load(page, saved)
    two_frames(page)
    assert (value(page, "speed"), value(page, "full_steps")) == ("Balanced", 12)
    # As the page does when somebody types.
    page.evaluate(
        f"name => {{ const found = {WIDGET}; found.value = 7; found.callback?.(7); }}", "full_steps"
    )
    assert (value(page, "speed"), value(page, "full_steps")) == ("full_steps below", 7)

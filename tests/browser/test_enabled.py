"""Fields beside a speed: only the one that counts can be edited. Of web/inputs/enabled.js."""

from .page import load, opened, set_widget, two_frames, undone_and_redone

NODE = 1


def enabled(page, *names):
    """Those of these fields that can be edited."""
    return page.evaluate(
        """([id, names]) => {
          const { widgets } = app.rootGraph.getNodeById(id);
          return names.filter(name => !widgets.find(w => w.name === name).disabled);
        }""",
        [NODE, names],
    )


def test_only_the_field_that_counts_can_be_edited(page):
    saved = opened(page, "GPH_ScheduleSearch")
    assert enabled(page, "speed", "full_steps") == ["speed"]
    set_widget(page, NODE, "speed", "full_steps below")
    assert enabled(page, "speed", "full_steps") == ["speed", "full_steps"]
    load(page, saved)
    two_frames(page)
    assert enabled(page, "speed", "full_steps") == ["speed"]
    found = [
        enabled(page, "full_steps")
        for _ in undone_and_redone(page, NODE, "speed", "full_steps below")
    ]
    assert found == [[], ["full_steps"]]

    opened(page, "GPH_AdaptiveCache")
    assert enabled(page, "threshold", "full_steps") == ["threshold"]
    set_widget(page, NODE, "speed", "Fast")
    assert enabled(page, "threshold", "full_steps") == []

    opened(page, "GPH_Cache")
    assert enabled(page, "schedule", "cache_budget_mib") == ["cache_budget_mib"]
    set_widget(page, NODE, "speed", "Custom")
    set_widget(page, NODE, "cache_device", "CPU")
    assert enabled(page, "schedule", "cache_budget_mib") == ["schedule"]


def test_learning_counts_with_every_speed(page):
    opened(page, "GPH_Cache")
    choices = page.evaluate(
        "id => app.rootGraph.getNodeById(id).widgets.find(w => w.name === 'speed').options.values",
        NODE,
    )
    assert {"Custom", "Off"} < set(choices)
    for choice in choices:
        set_widget(page, NODE, "speed", choice)
        assert enabled(page, "learn") == ([] if choice in ("Custom", "Off") else ["learn"]), choice

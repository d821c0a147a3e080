"""Inputs of which there is always one more than are connected, on the nodes of nodes/analyze."""

import pytest

from .page import example, load, two_frames

SHOOTOUTS = [f"shootouts.shootout{n}" for n in range(4)]
RECORDINGS = [f"recordings.runs{n}" for n in range(4)]

NODE = "app.rootGraph.nodes.find(node => node.type === kind)"


@pytest.fixture
def workflow(page):
    load(page, example("16_Compare_Schedules_and_Methods"))


def names(page, kind, group):
    """Of the sockets of a group, in their order."""
    found = page.evaluate(f"kind => {NODE}.inputs.map(input => input.name)", kind)
    return [name for name in found if name.startswith(group)]


def connect(page, source, kind, name):
    """Link the first node of a type, by its output's name, to an input."""
    page.evaluate(
        f"""([source, output, kind, name]) => {{
          const from = app.rootGraph.nodes.find(node => node.type === source);
          const to = {NODE};
          const slot = from.outputs.findIndex(one => one.name === output);
          from.connect(slot, to, to.inputs.findIndex(input => input.name === name));
        }}""",
        [*source, kind, name],
    )
    two_frames(page)


def sent(page, kind):
    """The inputs that the page sends for a node."""
    return page.evaluate(
        """async kind => Object.values((await app.graphToPrompt()).output)
          .find(node => node.class_type === kind).inputs""",
        kind,
    )


@pytest.mark.parametrize(
    ("kind", "source", "sockets"),
    [
        ("GPH_Coverage", ("GPH_MethodShootout", "JSON"), SHOOTOUTS),
        ("GPH_ScheduleStatistics", ("GPH_MethodShootout", "JSON"), SHOOTOUTS),
        ("GPH_ScheduleStatistics", ("GPH_RecordRuns", "runs"), RECORDINGS),
    ],
)
def test_a_third_one_can_be_connected_and_is_sent(page, workflow, kind, source, sockets):
    group = sockets[0].partition(".")[0]
    # The newest front end may offer two at once.
    assert names(page, kind, group)[:3] == sockets[:3]
    connect(page, source, kind, sockets[2])
    assert names(page, kind, group)[:4] == sockets
    links = [sent(page, kind)[name] for name in sockets[:3]]
    assert links[2] == links[0]  # the first node of the kind
    assert links[1] != links[0]

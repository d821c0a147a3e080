"""The main numbers on an analysis node, as its output brings them."""

import pytest

from .page import two_frames, view
from .search import opened

NODE, KIND = 1, "GPH_TrajectoryProfile"
HEIGHT = "id => app.rootGraph.getNodeById(id).size[1]"
TEXT = "3 runs of 12 steps\n<img id=foreign src=x>"


@pytest.fixture
def workflow(page):
    return opened(page, KIND)


def send(page, text, workflow=None):
    page.evaluate(
        """([id, text, workflow]) => {
          const output = { gph_summary: [{ text, workflow_id: workflow ?? app.rootGraph.id }] };
          app.rootGraph.getNodeById(id).onExecuted(output);
        }""",
        [NODE, text, workflow],
    )
    two_frames(page)


def summary(page):
    return view(page, NODE, "golden_path_summary").inner_text()


def test_before_a_run_the_node_says_what_it_will_show(page, workflow):
    assert summary(page) == "After a run: how straight, how planar and how alike the runs are."


def test_the_text_of_a_run_is_shown_as_text(page, workflow):
    send(page, TEXT)
    assert summary(page) == TEXT
    assert page.locator("#foreign").count() == 0


def test_a_long_text_makes_the_node_higher(page, workflow):
    before = page.evaluate(HEIGHT, NODE)
    send(page, "\n".join("a line" for _ in range(30)))
    assert page.evaluate(HEIGHT, NODE) > before + 200


def test_sentences_wrap_and_rows_of_columns_do_not(page, workflow):
    rows = [f"{name}  " + "  ".join(["0.123 [0.456]"] * 12) for name in ("uniform", "plain  ")]
    rows.insert(0, "median".rjust(20))
    sentence = "  an indented sentence" + " of several words" * 40
    text = "\n".join(["three rows", *rows, sentence, "", "the end"])
    send(page, text)
    parts = page.evaluate("""() => [...document.querySelectorAll(".gph-summary pre")].map(part => ({
      text: part.textContent, height: part.clientHeight,
      fits: part.scrollWidth <= part.clientWidth,
    }))""")
    assert "".join(part["text"] for part in parts) == text
    assert [part["fits"] for part in parts] == [True, False, True]
    line = parts[0]["height"]
    assert parts[1]["height"] == 3 * line
    assert parts[2]["height"] >= 6 * line


def test_a_text_takes_spare_room_before_the_node_grows(page, workflow):
    page.evaluate("""id => {
      const node = app.rootGraph.getNodeById(id);
      node.setSize([node.size[0], node.size[1] + 300]);
    }""", NODE)  # fmt: skip
    two_frames(page)
    roomy = page.evaluate(HEIGHT, NODE)
    for lines in (8, 2, 8):
        send(page, "\n".join(["a line"] * lines))
        assert page.evaluate(HEIGHT, NODE) == roomy
    send(page, "\n".join(["a line"] * 60))
    assert page.evaluate(HEIGHT, NODE) > roomy + 200


def test_a_text_of_another_workflow_is_not_shown(page, workflow):
    send(page, TEXT, workflow="another")
    assert summary(page).startswith("After a run:")


@pytest.mark.parametrize("kind", ["GPH_RecordTrajectory", "GPH_PropagationGain", "GPH_Coverage"])
def test_other_analysis_nodes_show_theirs(page, kind):
    opened(page, kind)
    assert summary(page).startswith("After a run:")
    send(page, TEXT)
    assert summary(page) == TEXT

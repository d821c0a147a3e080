"""The main numbers on an analysis node, of web/summary, as its output brings them."""

import pytest

from .page import executed, opened, two_frames, view

NODE, KIND = 1, "GPH_TrajectoryProfile"
HEIGHT = "id => app.rootGraph.getNodeById(id).size[1]"
TEXT = "3 runs of 12 steps"


@pytest.fixture
def workflow(page):
    return opened(page, KIND)


def send(page, text):
    executed(page, NODE, {"gph_summary": [{"text": text}]})
    two_frames(page)


def summary(page):
    return view(page, NODE, "golden_path_summary").inner_text()


def test_before_a_run_the_node_says_what_it_will_show(page, workflow):
    assert summary(page) == "After a run: how straight, how planar and how alike the runs are."


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


@pytest.mark.both_pages
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


@pytest.mark.parametrize("kind", ["GPH_RecordTrajectory", "GPH_PropagationGain", "GPH_Coverage"])
def test_other_analysis_nodes_show_theirs(page, kind):
    opened(page, kind)
    assert summary(page).startswith("After a run:")
    send(page, TEXT)
    assert summary(page) == TEXT

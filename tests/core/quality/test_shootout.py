"""Results of a shootout: kept in a file, and their statistics."""

import json
import math

import pytest

from gph_core.quality.shootout import FORMAT, CandidateRun, Results, ahead, figures, in_json
from gph_core.run.record import RunRecord

CONDITIONS = {"model": "abc", "noise levels": [1.0, 0.5, 0.0]}
RECORD = RunRecord(
    "0/2", "uniform", "FLUX", "stack", "residual reuse", (1.0, 0.5, 0.0), (0,), (1,), (0.2,),
    (0.1,), 100, ("a note",),
)  # fmt: skip


def result(example="a", candidate="uniform", plan="1", psnr=30.0, record=None):
    return CandidateRun(
        example, candidate, plan, {"psnr": psnr, "ssim": math.nan}, 0.3, 1.2, record
    )


def test_what_was_added_is_there_in_the_next_session(tmp_path):
    path = tmp_path / "new" / "one.jsonl"
    Results(path, CONDITIONS).add(result(psnr=math.inf, record=RECORD))
    results = Results(path, CONDITIONS)
    for key in (("b", "uniform", "1"), ("a", "plain", "1"), ("a", "uniform", "2")):
        assert results.get(*key) is None
    found = results.get("a", "uniform", "1")
    assert found is not None
    assert found.metrics["psnr"] == math.inf
    assert math.isnan(found.metrics["ssim"])
    assert found.record == RECORD
    assert found.seconds == 0.3
    assert found.speedup == pytest.approx(4)


@pytest.mark.parametrize("line", ["notes", "[]", "3", f'{{"format": "{FORMAT}"}}', '{"format": 1}'])
def test_a_file_of_another_kind_is_refused(tmp_path, line):
    path = tmp_path / "one.jsonl"
    path.write_text(line + "\n", "utf-8")
    with pytest.raises(ValueError, match="is no shootout of this pack and version"):
        Results(path, CONDITIONS)


def test_an_interval_is_students():
    # Values 1, 2, 3: deviation 1, t(0.975, 2) = 4.30265.
    found = figures([1.0, 2.0, 3.0])
    assert found["mean"] == 2
    assert found["low"] == pytest.approx(2 - 4.30265 / math.sqrt(3), rel=1e-5)
    assert found["high"] == pytest.approx(2 + 4.30265 / math.sqrt(3), rel=1e-5)
    assert (found["identical"], found["values"]) == (0, [1, 2, 3])


def test_a_single_example_has_no_interval():
    found = figures([5.0])
    assert (found["mean"], found["low"], found["high"]) == (5, None, None)


def test_identical_images_are_counted_and_left_out_of_means():
    found = figures([math.inf, 30.0, 32.0])
    assert (found["mean"], found["identical"]) == (31, 1)
    assert found["values"] == ["identical", 30, 32]
    all_equal = figures([math.inf, math.inf])
    assert (all_equal["mean"], all_equal["low"], all_equal["identical"]) == ("identical", None, 2)


def test_a_lead_is_that_over_the_examples_where_both_differ_from_the_full_run():
    found = ahead([math.inf, 31.0, 34.0, 40.0], [30.0, 30.0, 31.0, math.inf])
    assert found is not None
    assert found["mean"] == 2  # of 1 and 3
    # t(0.975, 1) = 12.7062 times half the distance of two values
    assert found["high"] == pytest.approx(2 + 12.7062, rel=1e-5)
    assert ahead([math.inf], [30.0]) is None


def test_what_is_not_a_number_is_null_in_json():
    assert in_json({"a": math.nan, "b": [math.inf, 1.0]}) == {"a": None, "b": ["identical", 1.0]}
    assert figures([math.nan, 1.0])["mean"] is None


def test_a_line_of_the_file_has_the_fields_that_files_had_from_the_first_version_on():
    fields = ["example", "contender", "plan", "seconds", "full_seconds", "metrics", "record"]
    assert list(json.loads(result().to_json())) == fields

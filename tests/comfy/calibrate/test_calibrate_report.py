"""What Calibrate says of its fits."""

import pytest
from golden_path_pack.gph_core.calibration.entry import Calibration
from golden_path_pack.nodes.calibrate.calibrate import report
from golden_path_pack.nodes.calibrate.calibrating import Calibrated

from ..calibrate_nodes import STEPS, calibrated, found, inputs

pytestmark = pytest.mark.usefixtures("in_a_run")


def test_the_report_of_all_methods_has_a_line_each():
    _, text = calibrated(**inputs(count=2))
    lines = text.splitlines()
    assert lines[0] == f"mine: 2 examples, {STEPS} steps"
    assert [line.split(":")[0] for line in lines[2:]] == [
        "TeaCache", "SenCache", "MagCache", "L2P", "DPCache", "MeanCache",
    ]  # fmt: skip


def described(method, **facts):
    return report(Calibrated({method: Calibration(method, {}, report=facts)}, {}, []))


def test_a_fit_that_explains_nothing_says_so_and_one_thing_is_one():
    facts = {"num_fit": 1, "num_held_out": 1, "mae": 0.25}
    assert described("TeaCache", r2=-0.5, **facts) == (
        "TeaCache: polynomial fitted to 1 example; on 1 other R² -0.50, mean absolute error "
        "0.2500; worse than a constant, their mean: take more examples"
    )
    for r2, words in ((0.5, "R² 0.50, "), (0.0, "R² 0.00, "), (None, "")):
        assert described("TeaCache", r2=r2, **facts | {"num_held_out": 2}).endswith(
            f"on 2 others {words}mean absolute error 0.2500"
        )
    assert described("DPCache", num_examples=1) == "DPCache: 1 example"
    assert (
        described("SenCache", num_examples=1, quantile=0.9) == "SenCache: 0.9 quantile of 1 example"
    )
    found = {"schedule": "0-2,4,6/7", "latent_mse": 0.5, "scored": 1, "examples": 1}
    assert described("BudCache", **{"5": found}).endswith("on 1 example, best of 1 schedule")


def test_equal_examples_are_told_of():
    given = inputs(count=2)
    given["examples"] += given["examples"][:1]
    _, text = calibrated("MagCache", **given)
    assert text.startswith(f"mine: 2 examples, {STEPS} steps\n")
    assert text.endswith("1 repeated example left out: equal ones count once")
    _, _, text = found("SeaCache", **given)
    assert text.endswith("1 repeated example left out: equal ones count once")

from dataclasses import replace

import pytest

from gph_core.paths.choice import choose
from gph_core.paths.conditions import Conditions
from gph_core.paths.evidence import SCORING, VALIDATION, evidence, measured
from gph_core.paths.golden_path import DRAWN, PUBLISHED, SEARCHED, SHARED, GoldenPath
from gph_core.policies.extrapolation import Reuse
from gph_core.policies.fitted import NEEDED, Fitted
from gph_core.schedule import Schedule

CONDITIONS = dict.fromkeys(NEEDED, "any") | {"sigmas": [1.0, 0.5, 0.0], "cfg": 5.0}
WEIGHTS = Fitted("0/2", ((1, ((0, 1.0),)),), CONDITIONS, examples=16)
PATH = GoldenPath(
    "mine", Schedule.parse("0/2"), SEARCHED, WEIGHTS, family="Any", architecture={"depth": 1},
    sigmas=(1.0, 0.5, 0.0), quality={measured("PSNR", 50, VALIDATION): 26.8123},
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "fitted here on 16 examples, PSNR 26.8 dB on 50 others"),
        (
            {"origin": SHARED},
            "searched elsewhere, its author states: fitted on 16 examples, PSNR 26.8 dB on 50 "
            "others",
        ),
        (
            {"origin": SHARED, "policy": replace(WEIGHTS, examples=0), "quality": {}},
            "searched elsewhere",
        ),
        (
            {"origin": DRAWN, "policy": replace(WEIGHTS, examples=0)},
            "drawn by hand, not measured, its author states: fitted, PSNR 26.8 dB on 50 others",
        ),
        ({"origin": PUBLISHED, "quality": {}}, "fitted on 16 examples"),
        (
            {"quality": {"the same, uniform": 1.0, measured("LPIPS", 16, SCORING): 0.0512}},
            "fitted here on 16 examples, LPIPS 0.0512 on these, not validated",
        ),
        (
            {"quality": {"PSNR dB, 50 validation prompts": 36.03}},
            "fitted here on 16 examples, PSNR 36.0 dB on 50 others",
        ),
        ({"policy": replace(WEIGHTS, examples=1), "quality": {}}, "fitted here on 1 example"),
        ({"policy": replace(WEIGHTS, examples=0), "quality": {}}, "fitted here"),
        ({"policy": Reuse()}, ""),
    ],
)
def test_evidence_says_on_what_weights_were_fitted_and_measured(changes, text):
    assert evidence(replace(PATH, **changes)) == text


def test_a_speed_says_it_of_the_path_that_it_takes():
    run = Conditions("Any", {"depth": 1}, PATH.sigmas, Reuse(), holds=lambda policy: True)
    assert choose(run, 1, [PATH]).origin == (
        "mine, fitted here on 16 examples, PSNR 26.8 dB on 50 others"
    )

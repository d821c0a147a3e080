from dataclasses import replace

import pytest

from gph_core.paths.choice import choose
from gph_core.paths.conditions import Conditions
from gph_core.paths.evidence import (
    LEARNED_FIGURE,
    SCORING,
    VALIDATION,
    beside_mean,
    evidence,
    measured,
    psnr,
)
from gph_core.paths.golden_path import (
    DRAWN,
    PUBLISHED,
    SEARCHED,
    SHARED,
    WITH_PACK,
    GoldenPath,
)
from gph_core.policies.extrapolation import Reuse
from gph_core.policies.fitted import NEEDED, Fitted
from gph_core.quality.verdict import Tally
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
        ({"origin": WITH_PACK}, "fitted on 16 examples, PSNR 26.8 dB on 50 others"),
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


TALLY = Tally(mean=35.84, worst=24.92, hardly=0.76)
MEAN = {measured("PSNR", 50, VALIDATION): 35.84}
TALLIED = MEAN | beside_mean(TALLY, 50, VALIDATION)


def test_a_path_keeps_what_a_mean_hides():
    assert TALLIED == {
        "PSNR, mean of 50 validation examples": 35.84,
        "PSNR, worst tenth of 50 validation examples": 24.92,
        "hardly visible, % of 50 validation examples": 76.0,
    }
    card = replace(PATH, quality=TALLIED).card.splitlines()
    assert "PSNR, worst tenth of 50 validation examples: 24.92" in card
    assert "hardly visible, % of 50 validation examples: 76" in card


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"quality": TALLIED},
            "fitted here on 16 examples, PSNR 35.8 dB on 50 others, worst tenth 24.9, hardly "
            "visible 76 %",
        ),
        (
            {"quality": TALLIED, "origin": SHARED},
            "searched elsewhere, its author states: fitted on 16 examples, PSNR 35.8 dB on 50 "
            "others, worst tenth 24.9, hardly visible 76 %",
        ),
        (
            {"quality": {measured("PSNR", 16, SCORING): 35.84} | beside_mean(TALLY, 16, SCORING)},
            "fitted here on 16 examples, PSNR 35.8 dB on these, not validated, worst tenth 24.9, "
            "hardly visible 76 %",
        ),
        (  # of other examples
            {"quality": MEAN | beside_mean(TALLY, 16, SCORING)},
            "fitted here on 16 examples, PSNR 35.8 dB on 50 others",
        ),
        (  # 24.9 dB would not be of the figure before it
            {
                "quality": {measured("PSNR and LPIPS", 50, VALIDATION): 1.5}
                | beside_mean(TALLY, 50, VALIDATION)
            },
            "fitted here on 16 examples, PSNR and LPIPS 1.5 on 50 others",
        ),
    ],
)
def test_evidence_says_what_the_mean_of_psnr_hides(changes, text):
    assert evidence(replace(PATH, **changes)) == text


def test_a_speed_says_it_of_the_path_that_it_takes():
    run = Conditions("Any", {"depth": 1}, PATH.sigmas, Reuse(), holds=lambda policy: True)
    assert choose(run, 1, [PATH]).origin == (
        "mine, fitted here on 16 examples, PSNR 26.8 dB on 50 others"
    )


@pytest.mark.parametrize(
    "key",
    [
        measured("PSNR", 16, VALIDATION), measured("PSNR", 8, SCORING), LEARNED_FIGURE,
        # As bundled paths write it.
        "validation PSNR dB, 50 prompts", "mean PSNR dB, 8 scoring prompts",
        "PSNR dB, 50 validation prompts",
    ],
)  # fmt: skip
def test_the_mean_psnr_of_a_path_is_known_in_every_form(key):
    others = {"least PSNR dB, 4 scoring prompts": 18.0, "PSNR Δt, mean of 4 scoring examples": 1.0}
    others |= beside_mean(Tally(20.0, 17.0, 0.1), 4, SCORING) | {"the same, uniform spacing": 20.0}
    assert psnr(replace(PATH, quality=others | {key: 26.5})) == 26.5
    assert psnr(replace(PATH, quality=others)) is None


def test_a_psnr_that_others_state_is_not_known():
    assert psnr(PATH) == 26.8123
    assert psnr(replace(PATH, origin=SHARED)) is None

"""``entry``: which runs a calibration holds for, strictly for thresholds, else with a note."""

import pytest

from gph_core.calibration.entry import Calibration

from ...support.calibration_entries import CONDITIONS, calibration


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cfg": 3.5}, "the cfg 1.0, this run has 3.5; choose a calibration that was made for"),
        ({"model": "wan", "cfg": 3.5}, "the model flux, this run has wan"),
        ({"latent": [16, 64, 96]}, "the latent 16×64×64, this run has 16×64×96"),
        ({"sigmas": (1.0, 0.62, 0.0)}, "the noise levels 0.6, this run has 0.62"),
        ({"sigmas": (1.001, 0.62, 0.0)}, "the noise levels 0.6, this run has 0.62"),
        ({"sigmas": (1.0, 0.0)}, "the noise levels of 2 steps, this run has those of 1 steps"),
        ({"sigmas": None}, "the noise levels of 2 steps, this run has none"),
        ({"dtype": "bf16"}, "the dtype none, this run has bf16"),
    ],
)
def test_other_conditions_are_refused_by_the_name_of_the_field(change, message):
    with pytest.raises(ValueError, match=f"TeaCache was calibrated with {message}"):
        calibration().check(CONDITIONS | change)


def test_noise_levels_may_differ_by_rounding():
    calibration().check(CONDITIONS)
    calibration().check(CONDITIONS | {"sigmas": [1.0, 0.604, 0.0]})
    with pytest.raises(ValueError, match=r"the noise levels 0\.6, this run has 0\.606"):
        calibration().check(CONDITIONS | {"sigmas": [1.0, 0.606, 0.0]})


def test_conditions_can_be_compared_as_far_as_they_are_known():
    calibration().check({}, partly=True)
    calibration().check({"cfg": 1.0}, partly=True)
    with pytest.raises(ValueError, match=r"calibrated with the cfg 1.0, this run has 2.0; choose"):
        calibration().check({"cfg": 2.0}, partly=True)


def test_weights_are_named_as_what_they_may_be():
    entry = Calibration("TeaCache", CONDITIONS | {"weights": "0123456789abcdef"})
    with pytest.raises(
        ValueError,
        match="was calibrated with other weights or patches of the model, such as a LoRA; choose",
    ):
        entry.check(CONDITIONS | {"weights": "fedcba9876543210"})


def test_values_serve_runs_of_their_model_that_differ_otherwise_with_a_note():
    made = CONDITIONS | {"family": "FLUX", "model": "4096 wide", "weights": "a", "sampler": "euler"}
    entry = Calibration("TeaCache", made)
    assert entry.check_values(made) == ""
    assert entry.check_values(made | {"sigmas": [1.0, 0.604, 0.0]}) == ""  # rounding
    assert entry.check_values(made | {"latent": [16, 9, 9]}) == (
        "this run differs from the calibration of TeaCache (another size), so what was measured "
        "there may fit less well"
    )
    others = {"weights": "b", "sigmas": [1.0, 0.0], "cfg": 2.0, "sampler": "heun"}
    assert (
        "TeaCache (other noise levels; another CFG; other weights or patches of the model, such as "
        "a LoRA; another sampler), so"
    ) in entry.check_values(made | others)


@pytest.mark.parametrize("field", ["family", "model"])
def test_values_of_another_model_are_refused(field):
    made = CONDITIONS | {"family": "FLUX", "model": "4096 wide"}
    with pytest.raises(ValueError, match=f"SenCache was calibrated with the {field} "):
        Calibration("SenCache", made).check_values(made | {field: "other"})


def test_sensitivities_of_another_size_are_refused():
    made = CONDITIONS | {"family": "FLUX", "model": "4096 wide", "latent": [16, 8, 8]}
    entry, larger = Calibration("SenCache", made), {"latent": [16, 9, 9]}
    with pytest.raises(
        ValueError, match="SenCache was calibrated with the latent 16×8×8, this run has 16×9×9"
    ):
        entry.check_values(made | larger)
    assert "(another size)" in Calibration("MagCache", made).check_values(made | larger)


def test_values_can_need_more_conditions():
    made = CONDITIONS | {"family": "FLUX", "model": "4096 wide"}
    entry = Calibration("L2P", made)
    assert "another CFG" in entry.check_values(made | {"cfg": 2.0})
    assert "another size" in entry.check_values(made | {"latent": [16, 9, 9]}, ("family", "cfg"))
    with pytest.raises(ValueError, match=r"L2P was calibrated with the cfg 1.0, this run has 2.0"):
        entry.check_values(made | {"cfg": 2.0}, ("family", "cfg"))

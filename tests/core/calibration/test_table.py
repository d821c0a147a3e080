"""Lines that say what the fits of a calibration are worth."""

from gph_core.calibration.entry import Calibration


def summary(method, **facts):
    return Calibration(method, {}, report=facts).summary()


def test_a_fit_that_explains_nothing_says_so_and_one_thing_is_one():
    facts = {"num_fit": 1, "num_held_out": 1, "mae": 0.25}
    assert summary("TeaCache", r2=-0.5, **facts) == (
        "polynomial fitted to 1 example; on 1 other R² -0.50, mean absolute error "
        "0.2500; worse than always predicting the mean, so use more examples"
    )
    for r2, words in ((0.5, "R² 0.50, "), (0.0, "R² 0.00, "), (None, "")):
        assert summary("TeaCache", r2=r2, **facts | {"num_held_out": 2}).endswith(
            f"on 2 others {words}mean absolute error 0.2500"
        )
    assert summary("DPCache", num_examples=1) == "1 example"
    assert summary("SenCache", num_examples=1, quantile=0.9) == "0.9 quantile of 1 example"
    found = {"schedule": "0-2,4,6/7", "latent_mse": 0.5, "scored": 1, "examples": 1}
    assert summary("BudCache", **{"5": found}).endswith("on 1 example, best of 1 schedule")
